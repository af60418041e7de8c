/** The kinds of repair of tasks and callbacks, as they are counted, recorded and reported. */

/**
 * `settled`: the task's workflow had ended without settling it. `timed_out`: the task was past its deadline.
 * `restarted`: the task had no workflow. `callback`: the delivery of the callback was overdue and was requested again.
 */
export const REPAIR_KINDS = ['settled', 'timed_out', 'restarted', 'callback'] as const;
export type RepairKind = (typeof REPAIR_KINDS)[number];
