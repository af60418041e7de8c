/**
 * The stored response of a call in the background that has no answer: it failed, or was cancelled. It can be read,
 * continued and deleted like any other.
 */
import { decodeInput } from '../responses/decode-input.ts';
import type { UnnamedInputItem } from '../responses/items.ts';
import type { ResponseToSave } from '../responses/stored-responses.ts';
import { InvalidTextRequest } from '../text-failure.ts';
import type { BackgroundCall } from './call-record.ts';

type Json = Readonly<Record<string, unknown>>;

type EndedCall = Pick<BackgroundCall, 'id' | 'accountId' | 'response'> & {
  /** As it was sent. */
  readonly request: Json | null;
};

/** @param changes to the response object as it was created. @param now milliseconds since 1970. */
export function endedResponse(
  { id, accountId, request, response }: EndedCall,
  changes: Json & { readonly status: 'failed' | 'cancelled' },
  now: number,
): ResponseToSave {
  const { previous_response_id: previousId } = response ?? {};
  return {
    id,
    accountId,
    previousId: typeof previousId === 'string' ? previousId : undefined,
    now,
    response: { ...response, ...changes },
    input: inputOf(request),
  };
}

/** The input of a request, unless it refers to items elsewhere. */
function inputOf(request: Json | null): readonly UnnamedInputItem[] {
  const input = request?.['input'];
  if (typeof input !== 'string' && !Array.isArray(input)) return [];
  try {
    return decodeInput(input, { conversation: [], referenced: new Map() });
  } catch (error) {
    if (error instanceof InvalidTextRequest) return [];
    throw error;
  }
}
