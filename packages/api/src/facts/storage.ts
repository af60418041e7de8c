/** Stored outputs. */

/** `pending`: a promotion was accepted and is not complete yet. */
export type OutputStatus = 'available' | 'pending' | 'deleted';

/** Why an operation on an output is rejected (contract §5). */
export const STORAGE_REJECTION_REASONS = [
  'not_owned',
  'insufficient',
  'cap_exceeded',
  'not_promotable',
  'already_deleted',
  'storage_op_pending',
] as const;
export type StorageRejectionReason = (typeof STORAGE_REJECTION_REASONS)[number];
