/** What a pass can fail to deal with, as it is counted, recorded and listed. Pure. */

/**
 * `object`: its bytes could not be deleted. `task`: its repair failed. `storage_metering`: an account's storage could not
 * be charged. `unpaid_storage`: an account's unpaid outputs could not be returned to temporary storage. `expiry`: one kind
 * of what expires could not be worked on, or a promotion that stands still could not be asked for again. `webhook_key`: an account's signing key could not be decrypted.
 * `upkeep`: one of the steps that a pass takes beside its items, as asking again for stalled callbacks, failed.
 * `model_file`: a model file that changed is bad; only counted, because each api lists its own (`GET /admin/catalogue`).
 */
export const FAILING_KINDS = [
  'object',
  'task',
  'storage_metering',
  'unpaid_storage',
  'expiry',
  'upkeep',
  'webhook_key',
  'model_file',
] as const;
export type FailingKind = (typeof FAILING_KINDS)[number];
