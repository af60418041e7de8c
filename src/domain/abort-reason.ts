/** Why a signal was aborted, as an error: `AbortSignal.reason` has no type, because anything can be given to `abort`. */
export function abortReason({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
