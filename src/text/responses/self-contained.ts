/**
 * The body of a request as an upstream with this endpoint is sent it (contract §9, issue "Upstreams"): upstreams know
 * nothing of our stored responses, so the conversation is written out, and nothing is to be stored there.
 */
import type { DecodedResponsesRequest, ResponsesBody } from './decode-request.ts';
import { isSealedHere, reasoningText } from './items.ts';
import type { ConversationItem, UnnamedInputItem } from './items.ts';

export function selfContainedBody(
  body: ResponsesBody,
  { input, request, rendering }: Pick<DecodedResponsesRequest, 'input' | 'request' | 'rendering'>,
  conversation: readonly ConversationItem[],
): Readonly<Record<string, unknown>> {
  const { previous_response_id: _, ...rest } = body;
  const { summary } = rendering.echo.reasoning;
  const effort = request.reasoningEffort;
  const reasoning = { ...(effort === undefined ? {} : { effort }), ...(summary === null ? {} : { summary }) };
  return {
    ...rest,
    input: typeof body.input === 'string' && conversation.length === 0 ? body.input : written(conversation, input),
    store: false,
    // `enabled` is ours.
    ...(body['reasoning'] == null ? {} : { reasoning }),
  };
}

function written(
  conversation: readonly ConversationItem[],
  input: readonly UnnamedInputItem[],
): readonly Readonly<Record<string, unknown>>[] {
  return [...conversation, ...input].map(({ id, ...item }) => {
    if (item.type !== 'reasoning') return item;
    // What an upstream has sealed itself is known by its id; what was sealed here is nothing to it.
    if (item.encrypted_content !== undefined && !isSealedHere(item)) return id === undefined ? item : { ...item, id };
    const text = reasoningText(item);
    return {
      type: 'reasoning',
      summary: [],
      content: text === undefined ? [] : [{ type: 'reasoning_text', text }],
    };
  });
}
