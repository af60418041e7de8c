/** The maximum lengths of lists, and other limits that the reference states. */

/** The maximum number of callback attempts in one list. */
export const MAX_LISTED_ATTEMPTS = 1_000;

/** The maximum number of callback receivers in one list. */
export const MAX_LISTED_RECEIVERS = 100;

/** The maximum number of tasks in each list of troubled tasks: those past their deadline, and those restarted. */
export const MAX_TASKS_NEEDING_REPAIR = 50;

/** How many days the record of a repair is retained. */
export const REPAIR_RETENTION_DAYS = 30;

/**
 * The maximum number of retained records of repairs; beyond it the oldest are deleted early. The loss of Temporal's
 * database causes one repair for each open task.
 */
export const MAX_REPAIR_RECORDS = 100_000;

/**
 * The maximum number of upstreams in one list. Only upstreams that a model file has named exist, each member of a pool
 * among them, so there are far fewer.
 */
export const MAX_UPSTREAMS = 1_000;

/** The maximum number of timeline events in one response. */
export const MAX_EVENTS_PER_PAGE = 1_000;

/** The maximum number of accounts in the list of queues. */
export const MAX_LISTED_ACCOUNTS = 1_000;

/**
 * How long a rotated API key continues to work (contract §7.1). The default of one day also applies to signing secrets
 * of webhooks (§6).
 */
export const ROTATION_OVERLAP_SECONDS = { default: 86_400, maximum: 604_800 } as const;

/** The maximum number of keys in one list: keys that are not revoked come first, then the most recent ones. */
export const MAX_LISTED_KEYS = 1_000;

/** The number of stored outputs up to which a total is exact and pages can be requested. */
export const MAX_PAGED_OUTPUTS = 10_000;

/** The number of tasks up to which a total is exact and pages can be requested. */
export const MAX_PAGED_TASKS = 10_000;

/** The maximum number of tasks on one page. */
export const MAX_PAGE_SIZE = 100;

/** The maximum number of task ids in one query. */
export const MAX_LISTED_IDS = 100;

/** The maximum number of rows in one usage response: some 1 MB of JSON. */
export const MAX_USAGE_ROWS = 10_000;

/** The length of a signing secret, in characters (contract §6). */
export const WEBHOOK_SECRET_LENGTH = { minimum: 16, maximum: 256 } as const;

/** The maximum number of violations in one error response. */
export const MAX_VIOLATIONS = 100;

/** The maximum number of days in one usage response. */
export const MAX_USAGE_DAYS = 366;

/** The number of days in a usage response if the query does not state a period. */
export const DEFAULT_USAGE_DAYS = 30;
