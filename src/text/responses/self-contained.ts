/**
 * The body of a request as an upstream with this endpoint is sent it (contract §9, issue "Upstreams"): upstreams know
 * nothing of our stored responses, so the conversation is written out, and nothing is to be stored there.
 */
import type { DecodedResponsesRequest, ResponsesBody } from './decode-request.ts';
import { isSealedHere, reasoningText } from './items.ts';
import type { UnnamedInputItem } from './items.ts';

/** @param items the whole conversation, in which what `request` was bounded by is all that there is. */
export function selfContainedBody(
  body: ResponsesBody,
  { request, rendering }: Pick<DecodedResponsesRequest, 'request' | 'rendering'>,
  items: readonly UnnamedInputItem[],
): Readonly<Record<string, unknown>> {
  const { previous_response_id: _, ...rest } = body;
  const { summary } = rendering.echo.reasoning;
  const effort = request.reasoningEffort;
  const reasoning = { ...(effort === undefined ? {} : { effort }), ...(summary === null ? {} : { summary }) };
  return {
    ...rest,
    input: typeof body.input === 'string' && items.length === 1 ? body.input : written(items),
    store: false,
    // `enabled` is ours.
    ...(body['reasoning'] == null ? {} : { reasoning }),
  };
}

function written(items: readonly UnnamedInputItem[]): readonly Readonly<Record<string, unknown>>[] {
  return items.map(({ id, ...item }) => {
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
