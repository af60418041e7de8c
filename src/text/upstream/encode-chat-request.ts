/**
 * The body of a chat completion as it is sent to an upstream. For a client of the same interface it is the client's
 * own, without our own parameters; for a client of responses it is built from the common form.
 *
 * What identifies our client or is stored here is not sent: `metadata`, `store`, `service_tier`. What the client
 * states about its own users (`user`, `safety_identifier`, `prompt_cache_key`) is for the upstream, and is sent.
 */
import type { TextUpstream } from '../../catalogue/text-definition.ts';
import { withAllowedTools } from '../allowed-tools.ts';
import type { OutputFormat, ToolChoice } from '../request.ts';
import type { TextCall } from '../source.ts';
import type { Members } from './chat-choice.ts';
import { encodeMessages } from './encode-messages.ts';
import { capOf, withOperators, worthSending } from './sent-parameters.ts';

/** Our own, or sent in another form. */
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

/** Parameters of a responses body that have the same name in chat completions. */
const CALLED_THE_SAME = ['user', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention'];

/** @param isStreamed whether the upstream streams: for a client of another interface it always does. */
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
