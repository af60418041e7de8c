/**
 * Stored outputs as their owner sees them (contract §5): the list, and the result for each id that was to be promoted
 * or deleted. URLs are signed here, that is, whenever the list is read.
 */
import type { StorageDecisionSchema, StorageItemSchema, StorageListSchema } from '@darkroom/api/tasks/storage';
import { OUTPUT_ID } from '@darkroom/api/tasks/storage';
import type { OutputPage, StoredOutput } from '../objects/outputs/list-outputs.ts';
import type { UrlSigner } from '../objects/urls/signed-url.ts';
import type { Static } from 'typebox';
import { outputFileName } from './task.ts';
import type { StorageDecision } from '../tasks/lifecycle/storage-operations.ts';

/** Whether a string can be an output's id. */
export function isOutputId(text: string): boolean {
  return new RegExp(OUTPUT_ID).test(text);
}

/** Presents a page of the list, signing a fresh URL for each stored output. */
export function presentOutputPage(
  { items, total, isTotalCapped }: OutputPage,
  pagination: { readonly page: number; readonly size: number },
  signer: UrlSigner,
): Static<typeof StorageListSchema> {
  return {
    page: pagination.page,
    size: pagination.size,
    total,
    ...(isTotalCapped ? { totalIsCapped: true } : {}),
    items: items.map((output) => presentStoredOutput(output, signer)),
  };
}

function presentStoredOutput(output: StoredOutput, signer: UrlSigner): Static<typeof StorageItemSchema> {
  const { url, expireAt } =
    output.status === 'deleted'
      ? { url: '', expireAt: 0 }
      : signer.sign({ outputId: output.id, fileName: outputFileName(output.taskId, output) });
  return {
    id: output.id,
    taskId: output.taskId,
    model: output.model,
    type: output.type,
    mimeType: output.mimeType,
    size: output.sizeBytes,
    url,
    expireAt,
    storage_tier: output.storageTier,
    status: output.status,
    created: output.createdAt,
    retainUntil: output.retainUntil ?? 0,
  };
}

/** Presents the result for each id. */
export function presentDecision({ accepted, rejected }: StorageDecision): Static<typeof StorageDecisionSchema> {
  return { accepted: [...accepted], rejected: [...rejected] };
}
