// The addresses to which the link of a notification may lead. Its text does not count.

/** Only web addresses become links. */
export const webLink = (link: string | null | undefined) => (link && /^https?:\/\//.test(link) ? link : undefined);

/** The end of a task or goal leads to its conversation on this page, a draft to itself. */
export const insideLink = (link: string | null | undefined) => (link && /^#\/(chat|drafts)\/[\w-]+$/.test(link) ? link : undefined);
