/**
 * The output of the test upstream, as events of either interface and as whole responses: well-formed, however it is
 * modified.
 */

/** The output of a model. */
export interface Reply {
  readonly reasoning?: readonly string[];
  readonly text?: readonly string[];
  readonly refusal?: readonly string[];
  readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly pieces: readonly string[] }[];
  readonly finish?: 'stop' | 'length' | 'tool_calls' | 'content_filter';
  readonly usage?: ReplyUsage;
}

export interface ReplyUsage {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly reasoning: number;
}

export const USAGE: ReplyUsage = { input: 11, cached: 3, output: 7, reasoning: 2 };
export const HELLO: Reply = { text: ['Hello', ', ', 'wörld 🌍', '!'], usage: USAGE };
/** Names that no client may ever see. */
export const UPSTREAM_MODEL = 'vendor-x/secret-model-9b';
export const UPSTREAM_ID = 'chatcmpl-upstream-4711';

export type Json = Readonly<Record<string, unknown>>;

interface Shape {
  /** How many choices. */
  readonly n?: number;
  /** The field of the reasoning. */
  readonly reasoningField?: 'reasoning' | 'reasoning_content';
  readonly usageOnEvery?: boolean;
  readonly includesUsage?: boolean;
}

function finishOf(reply: Reply): string {
  return reply.finish ?? ((reply.toolCalls?.length ?? 0) > 0 ? 'tool_calls' : 'stop');
}

export function chatUsage({ input, cached, output, reasoning }: ReplyUsage): Json {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
    cost: 0.000_42,
  };
}

/** The chunks of a reply: the role alone, the content, the end, the usage. */
export function chatChunks(reply: Reply, shape: Shape = {}): Json[] {
  const { n = 1, reasoningField = 'reasoning_content', usageOnEvery = false, includesUsage = true } = shape;
  const head = {
    id: UPSTREAM_ID,
    object: 'chat.completion.chunk',
    created: 1,
    model: UPSTREAM_MODEL,
    system_fingerprint: 'fp_vendor_x',
    provider: 'Vendor X',
  };
  const usage = reply.usage === undefined ? undefined : chatUsage(reply.usage);
  const chunks: Json[] = [];
  const say = (delta: Json, finish: string | null = null): void => {
    for (let index = 0; index < n; index++) {
      chunks.push({
        ...head,
        choices: [{ index, delta, logprobs: null, finish_reason: finish }],
        ...(usageOnEvery ? { usage } : {}),
      });
    }
  };
  say({ role: 'assistant', content: '' });
  for (const text of reply.reasoning ?? []) say({ [reasoningField]: text });
  for (const content of reply.text ?? []) say({ content });
  for (const refusal of reply.refusal ?? []) say({ refusal });
  for (const [index, { id, name, pieces }] of (reply.toolCalls ?? []).entries()) {
    say({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
    for (const piece of pieces) say({ tool_calls: [{ index, function: { arguments: piece } }] });
  }
  say({}, finishOf(reply));
  if (includesUsage && usage !== undefined) chunks.push({ ...head, choices: [], usage });
  return chunks;
}

export function chatCompletion(reply: Reply, { n = 1, reasoningField = 'reasoning_content' }: Shape = {}): Json {
  const toolCalls = (reply.toolCalls ?? []).map(({ id, name, pieces }) => ({
    id,
    type: 'function',
    function: { name, arguments: pieces.join('') },
  }));
  const message = {
    role: 'assistant',
    content: reply.text === undefined ? null : reply.text.join(''),
    ...(reply.refusal === undefined ? {} : { refusal: reply.refusal.join('') }),
    ...(reply.reasoning === undefined ? {} : { [reasoningField]: reply.reasoning.join('') }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
  return {
    id: UPSTREAM_ID,
    object: 'chat.completion',
    created: 1,
    model: UPSTREAM_MODEL,
    provider: 'Vendor X',
    choices: Array.from({ length: n }, (_, index) => ({ index, message, finish_reason: finishOf(reply) })),
    ...(reply.usage === undefined ? {} : { usage: chatUsage(reply.usage) }),
  };
}

/** A response object in the form of OpenAI's API. */
export function response(status: string, output: readonly unknown[], reply: Reply): Json {
  const { usage } = reply;
  return {
    id: 'resp_upstream_4711',
    object: 'response',
    created_at: 1,
    completed_at: status === 'completed' ? 2 : null,
    status,
    error: null,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    instructions: 'the operator’s own',
    model: UPSTREAM_MODEL,
    output,
    previous_response_id: null,
    store: false,
    metadata: { vendor: 'x' },
    temperature: 0.123,
    usage:
      usage === undefined || status === 'in_progress'
        ? null
        : {
            input_tokens: usage.input,
            input_tokens_details: { cached_tokens: usage.cached },
            output_tokens: usage.output,
            output_tokens_details: { reasoning_tokens: usage.reasoning },
            total_tokens: usage.input + usage.output,
          },
  };
}

export function messageItem(text: string, status = 'completed'): Json {
  const content = status === 'in_progress' ? [] : [{ type: 'output_text', text, annotations: [], logprobs: [] }];
  return { id: 'msg_1', type: 'message', role: 'assistant', status, content };
}

/** The events of a reply that is one message. */
export function responseEvents(reply: Reply): Json[] {
  const events: Json[] = [];
  const say = (type: string, rest: Json): void => {
    events.push({ type, sequence_number: events.length, ...rest });
  };
  const text = (reply.text ?? []).join('');
  const part = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  const status = reply.finish === 'length' ? 'incomplete' : 'completed';
  say('response.created', { response: response('in_progress', [], reply) });
  say('response.in_progress', { response: response('in_progress', [], reply) });
  say('response.output_item.added', { output_index: 0, item: messageItem('', 'in_progress') });
  say('response.content_part.added', { ...part, part: { type: 'output_text', text: '', annotations: [] } });
  for (const delta of reply.text ?? []) say('response.output_text.delta', { ...part, delta, logprobs: [] });
  say('response.output_text.done', { ...part, text, logprobs: [] });
  say('response.content_part.done', { ...part, part: { type: 'output_text', text, annotations: [] } });
  say('response.output_item.done', { output_index: 0, item: messageItem(text) });
  say(`response.${status}`, { response: response(status, [messageItem(text)], reply) });
  return events;
}
