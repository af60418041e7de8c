/** How an inspection can end without a result. */

/**
 * Why an inspection was ended: a limit that it exceeded, a crash of the process that read the file, or something else.
 */
export const INSPECTION_FAILURES = ['time', 'memory', 'cpu', 'processes', 'reading', 'crash', 'other'] as const;
export type InspectionFailure = (typeof INSPECTION_FAILURES)[number];
