/** Our errors in the format of OpenAI's API, which clients of the text endpoints expect (contract §9, spec §4.4.5). */
import { factsOf } from '../../domain/darkroom-error.ts';
import { openAiCodeOf } from '../../schema/openai-parse.ts';
import type { TextProblem } from '../../text/encoder.ts';
import type { ErrorForm } from '../app/error-form.ts';
import type { HttpProblem } from '../app/errors.ts';

/** @param form decides the `error_code` of an invalid key. */
export function textProblemOf(
  { kind, message, param, code, violations = [] }: HttpProblem,
  form: Exclude<ErrorForm, 'envelope' | 'admin' | 'json-rpc'> = 'text',
): TextProblem {
  const { status, errorCode, openAiType, openAiCode } = factsOf(kind);
  const [violation] = violations;
  const usesOpenAiCode = kind === 'unauthenticated' && form === 'text' && openAiCode !== null;
  return {
    status,
    errorCode: usesOpenAiCode ? openAiCode : errorCode,
    message,
    type: openAiType,
    code: code ?? openAiCode ?? (violation === undefined ? null : openAiCodeOf(violation)),
    param: param ?? null,
  };
}
