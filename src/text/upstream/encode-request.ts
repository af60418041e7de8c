/**
 * The body of a request as it is sent to an upstream. For a client of the same interface it is the client's own,
 * without our own parameters; chat completions for a client of responses are built from the common form.
 *
 * What identifies our client or is stored here is not sent: `metadata`, `store`, `service_tier`. What the client states
 * about its own users (`user`, `safety_identifier`, `prompt_cache_key`) is for the upstream, and is sent.
 */
import type { TextFeature } from '@darkroom/api/facts/text-features';
import type { TextUpstream } from '../../catalogue/text-definition.ts';
import { withAllowedTools } from '../parameters.ts';
import type { ContentPart, Message, OutputFormat, ToolChoice } from '../request.ts';
import type { TextCall } from '../source.ts';
import type { Members } from './read-answer.ts';

/** Our own parameters, or those that are sent in another form. */
const NOT_FOR_CHAT: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'reasoning',
  'reasoning_effort',
  'metadata',
  'store',
  'service_tier',
  'modalities',
  'response_format',
]);

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

/** Parameters of a responses body that have the same name in chat completions. */
const CALLED_THE_SAME = ['user', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention'];

/**
 * The feature that a parameter requests; for a model without it, only a request for the default was accepted
 * (features.ts).
 */
const FEATURES: Readonly<Record<string, TextFeature>> = {
  n: 'n',
  stop: 'stop',
  seed: 'seed',
  temperature: 'temperature',
  top_p: 'top_p',
  frequency_penalty: 'frequency_penalty',
  presence_penalty: 'presence_penalty',
  logit_bias: 'logit_bias',
  logprobs: 'logprobs',
  top_logprobs: 'logprobs',
  tools: 'tools',
  tool_choice: 'tools',
  parallel_tool_calls: 'parallel_tool_calls',
  reasoning: 'reasoning',
  reasoning_effort: 'reasoning',
  verbosity: 'verbosity',
};
const ABOUT_TOOLS: ReadonlySet<string> = new Set(['tools', 'tool_choice', 'parallel_tool_calls']);

/** The relative error of our count of input tokens, because another model's tokens differ from OpenAI's. */
const COUNT_ERROR = 0.1;

/**
 * The body of a chat completion.
 *
 * @param isStreamed whether the upstream streams: for a client of another interface it always does.
 */
export function encodeChatRequest(call: TextCall, upstream: TextUpstream, isStreamed: boolean): Members {
  const { request, surface } = call;
  const parameters = surface === 'chat' ? withAllowedTools(call.body, request) : encodeParameters(call);
  const body = {
    ...worthSending(parameters, call, NOT_FOR_CHAT),
    ...given('response_format', surface === 'chat' ? wireFormatOf(call) : formatOf(request.format)),
    [upstream.capParameter ?? 'max_tokens']: capOf(call),
    ...reasoningOf(call, upstream),
    ...(isStreamed ? { stream_options: { include_usage: true } } : {}),
  };
  return withOperators(body, upstream, {
    model: upstream.model,
    messages: encodeMessages(request.messages),
    stream: isStreamed,
  });
}

/**
 * The body of a response: the client's own, which is self-contained (responses/conversation.ts). Nothing is stored
 * there.
 */
export function encodeResponsesRequest(call: TextCall, upstream: TextUpstream): Members {
  const requested = withAllowedTools(call.body, call.request);
  const body = { ...worthSending(requested, call, NOT_FOR_RESPONSES), max_output_tokens: capOf(call) };
  return withOperators(body, upstream, { model: upstream.model, stream: call.isStreamed, store: false });
}

function reasoningOf({ request, model }: TextCall, { reasoningParameter }: TextUpstream): Members {
  const { reasoningEffort } = request;
  if (reasoningEffort === undefined || !model.features.includes('reasoning')) return {};
  const isOn = reasoningEffort !== 'none';
  switch (reasoningParameter) {
    case 'reasoning':
      return { reasoning: isOn ? { effort: reasoningEffort } : { enabled: false } };
    case 'enable_thinking':
      return { chat_template_kwargs: { enable_thinking: isOn } };
    default:
      return { reasoning_effort: reasoningEffort };
  }
}

function encodeParameters({ request, body, model }: TextCall): Members {
  const own = [...CALLED_THE_SAME, ...(model.extraParameters ?? [])].flatMap((name) =>
    body[name] == null ? [] : [[name, body[name]] as const],
  );
  const { tools } = request;
  return {
    ...Object.fromEntries(own),
    ...given('stop', request.stop.length === 0 ? undefined : request.stop),
    ...given('n', request.choices === 1 ? undefined : request.choices),
    ...given('temperature', request.temperature),
    ...given('top_p', request.topP),
    ...given('frequency_penalty', request.frequencyPenalty),
    ...given('presence_penalty', request.presencePenalty),
    ...given('logit_bias', request.logitBias),
    ...given('seed', request.seed),
    ...given('logprobs', request.topLogprobs === undefined ? undefined : true),
    ...given('top_logprobs', request.topLogprobs),
    ...given('verbosity', request.verbosity),
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map((tool) => ({ type: 'function', function: tool })),
          ...given('tool_choice', choiceOf(request.toolChoice)),
          ...given('parallel_tool_calls', request.parallelToolCalls ? undefined : false),
        }),
  };
}

function given(name: string, value: unknown): Members {
  return value === undefined ? {} : { [name]: value };
}

function choiceOf(choice: ToolChoice): unknown {
  if (choice === 'auto') return undefined;
  return typeof choice === 'string' ? choice : { type: 'function', function: choice };
}

/** The format as the client wrote it, because it may contain members that are unknown here. */
function wireFormatOf({ body, request }: TextCall): unknown {
  return request.format.type === 'text' ? undefined : body['response_format'];
}

function formatOf(format: OutputFormat): unknown {
  if (format.type === 'text') return undefined;
  if (format.type === 'json_object') return { type: 'json_object' };
  const { type, ...schema } = format;
  return { type, json_schema: schema };
}

/**
 * A conversation in the form that upstreams' chat completions accept. Only what has a meaning there, in the form that
 * most servers support: a single text is not a list of parts, `developer` is `system` (chat templates of open models
 * have no other), and members that are null or empty are left out.
 */
function encodeMessages(messages: readonly Message[]): readonly Members[] {
  return messages.map((message) => {
    switch (message.role) {
      case 'assistant':
        return assistantMessage(message);
      case 'tool':
        return { role: 'tool', tool_call_id: message.toolCallId, content: contentOf(message.content) };
      default:
        return {
          role: message.role === 'developer' ? 'system' : message.role,
          content: contentOf(message.content),
          ...(message.name === undefined ? {} : { name: message.name }),
        };
    }
  });
}

function assistantMessage(message: Message & { readonly role: 'assistant' }): Members {
  const content = message.content.filter(({ type }) => type !== 'refusal');
  const refusals = message.content.flatMap((part) => (part.type === 'refusal' ? [part.refusal] : []));
  return {
    role: 'assistant',
    content: content.length === 0 ? null : contentOf(content),
    ...(refusals.length === 0 ? {} : { refusal: refusals.join('') }),
    ...(message.reasoning === undefined ? {} : { reasoning_content: message.reasoning }),
    ...(message.name === undefined ? {} : { name: message.name }),
    ...(message.toolCalls.length === 0
      ? {}
      : {
          tool_calls: message.toolCalls.map(({ id, name, arguments: text }) => ({
            id,
            type: 'function',
            function: { name, arguments: text },
          })),
        }),
  };
}

function contentOf(content: readonly ContentPart[]): string | readonly Members[] {
  const [first] = content;
  if (first === undefined) return '';
  if (content.length === 1 && first.type === 'text') return first.text;
  return content.map((part) => {
    switch (part.type) {
      case 'text':
        return { type: 'text', text: part.text };
      case 'refusal':
        return { type: 'refusal', refusal: part.refusal };
      case 'image':
        return {
          type: 'image_url',
          image_url: { url: part.url, ...(part.detail === undefined ? {} : { detail: part.detail }) },
        };
    }
  });
}

/**
 * The maximum number of tokens that is sent to the upstream. It is always sent, because the hold is for this number,
 * and it is never more than there is room for. Servers reject a cap that the context cannot hold: if the client names
 * none, some of the room is left for what we may have miscounted, and never more than half of it.
 */
function capOf({ model, request, tally }: TextCall): number {
  const { inputTokens } = tally;
  const room = Math.max(1, model.contextTokens - inputTokens);
  if (request.maxOutputTokens !== undefined) return Math.min(request.maxOutputTokens, room);
  const sure = Math.floor(Math.max(room - inputTokens * COUNT_ERROR, room / 2));
  return Math.max(1, Math.min(model.maxOutputTokens, sure));
}

/**
 * The members of a body that are worth sending. Null is how many clients say "not given", and more than some servers
 * understand; a parameter that disables a feature which the model does not have is rejected by servers that do not know
 * it.
 *
 * @param left what is not sent in any case.
 */
function worthSending(body: Members, { model, request }: TextCall, left: ReadonlySet<string>): Record<string, unknown> {
  const sent: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    if (value === null || left.has(name)) continue;
    const feature = Object.hasOwn(FEATURES, name) ? FEATURES[name] : undefined;
    if (feature !== undefined && !model.features.includes(feature)) continue;
    if (request.tools.length === 0 && ABOUT_TOOLS.has(name)) continue;
    sent[name] = value;
  }
  return sent;
}

/** The operator's parameters take precedence; null removes a parameter. What the call itself depends on stays. */
function withOperators(
  body: Record<string, unknown>,
  { parameters = {} }: TextUpstream,
  essential: Members,
): Record<string, unknown> {
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null) delete body[name];
    else body[name] = value;
  }
  return { ...body, ...essential };
}
