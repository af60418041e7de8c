/** The kinds of items that a pass can fail to process, as they are counted, recorded and listed. */

/**
 * `object`: its bytes could not be deleted. `task`: its repair failed. `storage_metering`: an account's storage could
 * not be charged. `unpaid_storage`: an account's unpaid outputs could not be returned to temporary storage. `expiry`:
 * one kind of what expires could not be processed, or a stalled promotion could not be requested again. `webhook_key`:
 * an account's signing secret could not be decrypted. `upkeep`: one of the steps that a pass takes in addition to its
 * items, such as requesting stalled callbacks again, failed. `model_file`: a model file that changed is bad; only
 * counted, because each api lists its own (`GET /admin/catalogue`).
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
