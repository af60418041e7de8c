/**
 * Asks a provider ahead of a submit whether it has what the input names. Some servers ignore what they do not know, and
 * would do and deliver other work than was requested.
 */
import { ProviderRejection } from '../provider.ts';
import type { GenerationRequest, SubmitCall } from '../provider.ts';
import type { UpstreamCalls } from '../upstream-calls.ts';
import { scopeOf, sendAhead, unbound } from './ahead-of-submit.ts';
import type { HttpBinding } from './binding.ts';
import { inputOf } from './model-file.ts';
import type { ModelFile } from './model-file.ts';
import { addressOf, reasonOf } from './values.ts';

/** @throws {ProviderRejection} the provider does not have it, or did not say so. */
export async function passPreflight(
  request: GenerationRequest,
  http: HttpBinding,
  call: SubmitCall,
  { file, calls }: { readonly file: ModelFile; readonly calls: UpstreamCalls },
): Promise<void> {
  const { preflight } = http;
  if (preflight === undefined) return;
  const { path } = await file.read(request, { path: preflight.path }, { document: inputOf(request) }, 'preflight');
  const address = addressOf(path, scopeOf(request, http));
  if (address === undefined) throw unbound('preflight.path');
  const document = await sendAhead(
    'preflight',
    request,
    { calls, call },
    // The list of all that a server has may be long.
    { method: 'GET', path: address, headers: http.headers ?? {}, bringsFiles: true },
  );
  const { refusal } = await file.read(request, { refusal: preflight.refusal }, { document }, 'preflight');
  // Nothing, which an expression that fails gives too, must not pass for consent.
  if (refusal === false) return;
  const reason = reasonOf(refusal);
  if (reason !== undefined) throw new ProviderRejection(reason);
  throw new ProviderRejection('model_unavailable', {
    note: 'http.preflight.refusal of the model file gives no usable value for this response',
  });
}
