/** How many items a list has at most, and other bounds that the reference states. */

/** The maximum number of attempts listed. */
export const LISTED_ATTEMPTS = 1_000;

/** As many as are reported to an account at once. */
export const LISTED_RECEIVERS = 100;

/** Tasks of a kind that are listed at once. */
export const MAX_TROUBLED_TASKS = 50;

/** How long a record is retained. */
export const KEPT_DAYS = 30;

/** The oldest are deleted earlier where there are more: a lost Temporal database is a repair for each open task. */
export const MAX_KEPT_REPAIRS = 100_000;

/** There are only as many as model files have ever named. */
export const MAX_UPSTREAMS = 200;

/** The most events that one read returns. */
export const TIMELINE_PAGE = 1_000;

/** The most accounts that are listed at once. */
export const MAX_TOLD_ACCOUNTS = 1_000;

/** Contract §7.1; a day is the overlap of webhook keys too (§6). */
export const ROTATION_OVERLAP_SECONDS = { default: 86_400, maximum: 604_800 } as const;

/** At most this many keys are listed: those that are not revoked first, of each kind the newest. */
export const MAX_LISTED_KEYS = 1_000;

/** Rows are counted, and can be paged through, up to here. */
export const MAX_LISTED = 10_000;

/** Pages end here, and a total is exact up to here. */
export const LISTED_BY_PAGE = 10_000;

export const MAX_PAGE_SIZE = 100;

export const MAX_LISTED_IDS = 100;

/** Some 1 MB as JSON. */
export const MAX_USAGE_ROWS = 10_000;

/** Contract §6: a text of 16-256 characters. */
export const WEBHOOK_SECRET_LENGTH = { minimum: 16, maximum: 256 } as const;

/** At most this many violations are reported. */
export const MAX_VIOLATIONS = 100;

/** The most days of usage in one response. */
export const MAX_USAGE_DAYS = 366;

/** The days of usage where a query names none. */
export const DEFAULT_USAGE_DAYS = 30;
