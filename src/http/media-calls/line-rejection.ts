/** The response for a line of a batch that is rejected, in OpenAI's form. */
import type { LineResponse } from '../../batches/context.ts';
import { factsOf } from '../../domain/darkroom-error.ts';
import type { DarkroomError } from '../../domain/darkroom-error.ts';
import { errorBody } from '../../text/encoder.ts';
import { problemOf } from '../app/errors.ts';
import { textProblemOf } from '../text/problem.ts';

export function rejected(error: DarkroomError): LineResponse {
  const problem = problemOf(error);
  return { status: factsOf(problem.kind).status, body: errorBody(textProblemOf(problem)) };
}
