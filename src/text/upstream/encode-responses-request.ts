/**
 * The body of a response as it is sent to an upstream: the client's own, which is self-contained
 * (responses/self-contained.ts), with the upstream's model. Nothing is stored there, and `metadata` stays here.
 */
import type { TextUpstream } from '../../catalogue/text-definition.ts';
import { withAllowedTools } from '../allowed-tools.ts';
import type { TextCall } from '../source.ts';
import type { Members } from './chat-choice.ts';
import { capOf, withOperators, worthSending } from './sent-parameters.ts';

const NOT_FOR_RESPONSES: ReadonlySet<string> = new Set([
  'model',
  'stream',
  'stream_options',
  'store',
  'metadata',
  'service_tier',
  'background',
  'previous_response_id',
  'max_output_tokens',
]);

export function encodeResponsesRequest(call: TextCall, upstream: TextUpstream): Members {
  const requested = withAllowedTools(call.body, call.request);
  const body = { ...worthSending(requested, call, NOT_FOR_RESPONSES), max_output_tokens: capOf(call) };
  return withOperators(body, upstream, { model: upstream.model, stream: call.isStreamed, store: false });
}
