/** Why the operator bears a cost that no account pays (contract §7). */

/** The outcomes of a task after which a provider may charge a cost that no account pays. */
export const BORNE_REASONS = [
  'timed_out',
  'outcome_unknown',
  'storage_unavailable',
  'terminated',
  'cancelled',
  'no_output',
] as const;

/** Why the operator bears a cost. */
export const COST_REASONS = [...BORNE_REASONS, 'hold_exceeded', 'attempt_lost'] as const;
export type CostReason = (typeof COST_REASONS)[number];
