/** Errors of Darkroom as the AI SDK knows them. */
import { APICallError } from '@ai-sdk/provider';
import { ApiError } from '@darkroom/sdk';

/**
 * Runs a call of a model. A rejected request becomes an `APICallError`, never a retryable one: the client has already
 * sent it again under its idempotency key, and another attempt of the AI SDK would be a second task.
 */
export async function translateErrors<Result>(url: string, call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { message, status, code, violations, requestId } = error;
    throw new APICallError({
      message,
      url,
      requestBodyValues: {},
      statusCode: status,
      responseHeaders: requestId === undefined ? {} : { 'x-request-id': requestId },
      data: { code, violations },
      isRetryable: false,
      cause: error,
    });
  }
}
