/**
 * The body of a request as it is sent to an upstream with this endpoint (contract §9): upstreams do not know our
 * stored responses, so the conversation is written out, and nothing is to be stored there.
 */
import type { DecodedResponsesRequest, ResponsesBody } from './decode-request.ts';
import { isSealedHere, reasoningText } from './items.ts';
import type { ModelItem } from './items.ts';

/** @param items the whole conversation: everything by which `request` was bounded, and nothing else. */
export function selfContainedBody(
  body: ResponsesBody,
  { request, rendering }: Pick<DecodedResponsesRequest, 'request' | 'rendering'>,
  items: readonly ModelItem[],
): Readonly<Record<string, unknown>> {
  const { previous_response_id: _, ...rest } = body;
  const { summary } = rendering.echo.reasoning;
  const effort = request.reasoningEffort;
  const reasoning = { ...(effort === undefined ? {} : { effort }), ...(summary === null ? {} : { summary }) };
  return {
    ...rest,
    input: typeof body.input === 'string' && items.length === 1 ? body.input : written(items),
    store: false,
    // `enabled` is our own.
    ...(body['reasoning'] == null ? {} : { reasoning }),
  };
}

function written(items: readonly ModelItem[]): readonly Readonly<Record<string, unknown>>[] {
  return items.map(({ id, ...item }) => {
    if (item.type !== 'reasoning') return item;
    // Reasoning that an upstream sealed itself is identified by its id; what was sealed here means nothing to the
    // upstream.
    if (item.encrypted_content !== undefined && !isSealedHere(item)) return id === undefined ? item : { ...item, id };
    const text = reasoningText(item);
    return {
      type: 'reasoning',
      summary: [],
      content: text === undefined ? [] : [{ type: 'reasoning_text', text }],
    };
  });
}
