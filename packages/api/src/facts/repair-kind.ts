/** What the repair does about tasks and their callbacks: as it is counted, recorded and reported. Pure. */

/**
 * `settled`: its workflow had ended without settling it. `timed_out`: it was past its deadline. `restarted`: it had
 * no workflow. `callback`: its delivery was overdue, and was requested once more.
 */
export const REPAIR_KINDS = ['settled', 'timed_out', 'restarted', 'callback'] as const;
export type RepairKind = (typeof REPAIR_KINDS)[number];
