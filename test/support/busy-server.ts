/** Questions to a Temporal server that is too busy to answer each of them. */
import { ServiceError } from '@temporalio/client';
import { waitFor } from '@darkroom/testing/wait-for';

/**
 * Asks until the server answers. A busy one may not answer within the time that the SDK gives it, and rejects
 * questions to a workflow whose last step failed; a schedule is one.
 *
 * @param ask must only read. @throws whatever is not an error of the service, such as a workflow that does not exist.
 */
export async function answerOf<T>(ask: () => Promise<T>): Promise<T> {
  let answer: { readonly value: T } | undefined;
  let last: unknown;
  await waitFor(
    () => `an answer of Temporal; its last was ${String(last)}`,
    async () => {
      try {
        answer = { value: await ask() };
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        last = error;
      }
      return answer !== undefined;
    },
  );
  if (answer === undefined) throw new Error('waitFor returned before its condition held');
  return answer.value;
}
