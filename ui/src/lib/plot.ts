// The days of a plot.

/** Days that a plot has at most: more bars are too thin to be seen. */
const MOST = 92;

function iso(at: Date): string {
  const two = (value: number) => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** The first instant of the day that was so many days before today. */
export function daysAgo(days: number): number {
  const at = new Date();
  at.setHours(0, 0, 0, 0);
  at.setDate(at.getDate() - days);
  return at.getTime();
}

/** Every day from the first to today, also those on which nothing was used. */
export function everyDay<T extends { name: string }>(rows: T[], since: number | undefined): { day: string; row: T | undefined }[] {
  const first = since ?? Math.max(daysAgo(MOST - 1), rows[0] ? new Date(`${rows[0].name}T00:00`).getTime() : Date.now());
  const all: { day: string; row: T | undefined }[] = [];
  const at = new Date(first);
  at.setHours(12, 0, 0, 0);
  const end = iso(new Date());
  for (;;) {
    const day = iso(at);
    all.push({ day, row: rows.find((one) => one.name === day) });
    if (day >= end || all.length > MOST) return all;
    at.setDate(at.getDate() + 1);
  }
}
