// What the browser says about the person, for the prompt and for tools that want it. The place is
// not asked for: browsers show a question for it, and tools ask when they need it.

/** Widest screen of a phone and of a tablet, in CSS pixels, as the style sheet has it. */
const PHONE = 600;
const TABLET = 1024;

export interface Surroundings {
  locale: string;
  time_zone: string;
  device: "phone" | "tablet" | "desktop";
}

export function surroundings(): Surroundings {
  const width = Math.min(screen.width, screen.height);
  const touch = matchMedia("(pointer: coarse)").matches;
  const device = !touch ? "desktop" : width < PHONE ? "phone" : width < TABLET ? "tablet" : "desktop";
  return {
    locale: navigator.language,
    time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    device,
  };
}
