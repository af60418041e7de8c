/** A batch in the form of OpenAI's API (contract §10). */
import { isTextBatchEndpoint } from '@darkroom/api/openai/batches';
import type { WireBatch } from '@darkroom/api/openai/batches';
import type { Batch } from '../batches/batch-record.ts';

/** The member that says when a batch has ended, by how it has. */
const ENDED_AT = {
  completed: 'completed_at',
  failed: 'failed_at',
  expired: 'expired_at',
  cancelled: 'cancelled_at',
} as const;

export function presentBatch(batch: Batch): WireBatch {
  const { status, endedAt } = batch;
  const ended = status in ENDED_AT ? ENDED_AT[status as keyof typeof ENDED_AT] : undefined;
  return {
    id: batch.id,
    object: 'batch',
    endpoint: batch.endpoint,
    ...(batch.model === null ? {} : { model: batch.model }),
    ...(batch.problems === null ? {} : { errors: { object: 'list', data: [...batch.problems] } }),
    input_file_id: batch.inputFileId,
    completion_window: batch.completionWindow,
    status,
    ...(endedAt !== null || batch.waitingFor === null ? {} : { waiting_for: batch.waitingFor }),
    ...(batch.outputFileId === null ? {} : { output_file_id: batch.outputFileId }),
    ...(batch.errorFileId === null ? {} : { error_file_id: batch.errorFileId }),
    created_at: Math.floor(batch.createdAt),
    expires_at: Math.floor(batch.expiresAt),
    ...timeOf('in_progress_at', batch.inProgressAt),
    ...timeOf('finalizing_at', batch.finalizingAt),
    ...timeOf('cancelling_at', batch.cancellingAt),
    ...(ended === undefined ? {} : timeOf(ended, endedAt)),
    request_counts: {
      total: batch.linesTotal,
      completed: batch.linesCompleted + batch.aheadCompleted,
      failed: batch.linesFailed + batch.aheadFailed,
    },
    ...(isTextBatchEndpoint(batch.endpoint) ? { usage: usageOf(batch) } : {}),
    metadata: batch.metadata,
  };
}

function usageOf({
  inputTokens,
  cachedInputTokens,
  outputTokens,
  reasoningTokens,
}: Batch): NonNullable<WireBatch['usage']> {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
}

function timeOf(name: string, time: number | null): Readonly<Record<string, number>> {
  return time === null ? {} : { [name]: Math.floor(time) };
}
