/**
 * From the body of `POST /chat/completions` to the common form (contract §9). Everything that contradicts itself, or
 * that no model here could honour, is rejected with the field and the reason; what this particular model cannot do is
 * left to features.ts.
 */
import type { ReasoningEffort } from '@darkroom/api/facts/text-options';
import { ChatRequestSchema } from '@darkroom/api/openai/chat-request';
import type { TextModelDefinition } from '../../catalogue/text-definition.ts';
import { compileOpenAiParse, openAiCodeOf } from '../../schema/openai-parse.ts';
import {
  allowedTools,
  assertUniqueNames,
  functionTool,
  given,
  namedTool,
  reasoningEffortOf,
  schemaFormat,
  toolChoiceWord,
  requireBoundedSchemas,
} from '../parameters.ts';
import type { AllowedToolsForm, ToolRules } from '../parameters.ts';
import type { FunctionTool, JsonSchema, OutputFormat, TextRequest } from '../request.ts';
import { InvalidTextRequest } from '../text-failure.ts';
import { decodeMessages } from './decode-messages.ts';
import type { WireMessage } from './decode-messages.ts';

/** A body with a valid outer form. */
export interface ChatBody extends Readonly<Record<string, unknown>> {
  readonly model: string;
  readonly messages: readonly WireMessage[];
  readonly stream?: boolean | null;
  readonly stream_options?: { readonly include_usage?: boolean | null } | null;
}

const KNOWN_PARAMETERS: ReadonlySet<string> = new Set(Object.keys(ChatRequestSchema.properties));

/** OpenAI's own parameters that nothing here can honour. */
const UNSUPPORTED_PARAMETERS: Readonly<Record<string, string>> = {
  audio: 'no audio is made here; use an audio model with POST /v1/tasks',
  functions: 'use tools',
  function_call: 'use tool_choice',
  prediction: 'predicted outputs are not supported',
  web_search_options: 'web search is not supported',
};

/** Where the schemas are. */
const SCHEMAS = {
  format: 'response_format.json_schema.schema',
  parameters: (index: number) => `tools.${index}.function.parameters`,
};

const parse = compileOpenAiParse(ChatRequestSchema);

/** Validates the outer form. @returns the body without empty strings that may be left out. @throws {InvalidTextRequest} */
export function checkChatBody(body: Readonly<Record<string, unknown>>): ChatBody {
  const parsed = parse(body);
  const { violation } = parsed;
  if (violation !== undefined) {
    const param = violation.field === '' ? undefined : violation.field;
    throw new InvalidTextRequest(param, violation.message, openAiCodeOf(violation));
  }
  return parsed.value as ChatBody;
}

/**
 * @param body as validated.
 * @param model the model that it names: it may accept parameters of its own.
 * @throws {InvalidTextRequest}
 */
export function decodeChatRequest(body: ChatBody, model: Pick<TextModelDefinition, 'extraParameters'>): TextRequest {
  assertKnownParameters(body, model);
  const tools = toolsOf(body);
  const format = formatOf(given(body['response_format']));
  requireBoundedSchemas({ format, tools }, SCHEMAS);
  return {
    model: body.model,
    messages: decodeMessages(body.messages),
    maxOutputTokens: capOf(body),
    stop: stopsOf(body['stop']),
    choices: given<number>(body['n']) ?? 1,
    temperature: given(body['temperature']),
    topP: given(body['top_p']),
    frequencyPenalty: given(body['frequency_penalty']),
    presencePenalty: given(body['presence_penalty']),
    logitBias: given(body['logit_bias']),
    seed: given(body['seed']),
    topLogprobs: logprobsOf(body),
    format,
    ...toolRulesOf(given(body['tool_choice']), tools),
    parallelToolCalls: given<boolean>(body['parallel_tool_calls']) ?? true,
    reasoningEffort: effortOf(body),
    verbosity: given(body['verbosity']),
  };
}

function assertKnownParameters(
  body: ChatBody,
  { extraParameters = [] }: Pick<TextModelDefinition, 'extraParameters'>,
): void {
  for (const name of Object.keys(body)) {
    if (KNOWN_PARAMETERS.has(name) || extraParameters.includes(name)) continue;
    const advice = Object.hasOwn(UNSUPPORTED_PARAMETERS, name) ? UNSUPPORTED_PARAMETERS[name] : undefined;
    if (advice !== undefined && given(body[name]) === undefined) continue;
    const shown = JSON.stringify(name.slice(0, 64));
    throw advice === undefined
      ? new InvalidTextRequest(name.slice(0, 64), `unknown parameter: ${shown}`, 'unknown_parameter')
      : new InvalidTextRequest(name, `unsupported parameter: ${shown}: ${advice}`, 'unsupported_parameter');
  }
}

function capOf(body: ChatBody): number | undefined {
  const cap = given<number>(body['max_completion_tokens']);
  const older = given<number>(body['max_tokens']);
  if (cap !== undefined && older !== undefined && cap !== older) {
    const message = `max_tokens is ${older} and max_completion_tokens is ${cap}; send only one`;
    throw new InvalidTextRequest('max_tokens', message);
  }
  return cap ?? older;
}

function stopsOf(value: unknown): readonly string[] {
  const stop = given<string | readonly string[]>(value);
  if (stop === undefined) return [];
  return typeof stop === 'string' ? [stop] : stop;
}

function logprobsOf(body: ChatBody): number | undefined {
  const top = given<number>(body['top_logprobs']);
  if (given<boolean>(body['logprobs']) === true) return top ?? 0;
  if (top !== undefined && top > 0) {
    throw new InvalidTextRequest('top_logprobs', 'top_logprobs needs logprobs to be true');
  }
  return undefined;
}

/** The three forms of one control; contradictions are rejected (contract §9). */
function effortOf(body: ChatBody): ReasoningEffort | undefined {
  const reasoning = given<{ enabled?: boolean | null; effort?: ReasoningEffort | null }>(body['reasoning']);
  return reasoningEffortOf(
    { effort: given(body['reasoning_effort']), param: 'reasoning_effort' },
    { effort: given(reasoning?.effort), enabled: given(reasoning?.enabled) },
  );
}

function toolsOf(body: ChatBody): readonly FunctionTool[] {
  interface WireTool {
    readonly type: string;
    readonly function?: {
      readonly name: string;
      readonly description?: string | null;
      readonly parameters?: JsonSchema | null;
      readonly strict?: boolean | null;
    };
  }
  const tools = (given<readonly WireTool[]>(body['tools']) ?? []).map((tool, index): FunctionTool => {
    const where = `tools.${index}`;
    if (tool.type !== 'function') {
      const shown = JSON.stringify(tool.type.slice(0, 64));
      throw new InvalidTextRequest(
        `${where}.type`,
        `${where}.type: got ${shown}, want "function"`,
        'unsupported_value',
      );
    }
    if (tool.function === undefined) {
      const message = `invalid request: missing property: ${where}.function`;
      throw new InvalidTextRequest(`${where}.function`, message, 'missing_required_parameter');
    }
    return functionTool(tool.function);
  });
  assertUniqueNames(tools);
  return tools;
}

const ALLOWED_TOOLS: AllowedToolsForm = {
  path: 'tool_choice.allowed_tools',
  modes: ['auto', 'required'],
  isModeOptional: false,
  nameMember: 'function',
};

function toolRulesOf(value: unknown, tools: readonly FunctionTool[]): ToolRules {
  if (value === undefined) return { tools, toolChoice: tools.length > 0 ? 'auto' : 'none' };
  if (typeof value === 'string') return { tools, toolChoice: toolChoiceWord(value, tools) };
  const choice = value as { type?: unknown; function?: { name?: unknown }; allowed_tools?: unknown };
  if (choice.type === 'allowed_tools') {
    const { allowed_tools: allowed } = choice;
    if (typeof allowed !== 'object' || allowed === null) {
      const missing = 'tool_choice.allowed_tools';
      const message = `${missing}: want {"mode":"auto" or "required","tools":[…]}`;
      throw new InvalidTextRequest(missing, message, 'missing_required_parameter');
    }
    return allowedTools(allowed as Readonly<Record<string, unknown>>, tools, ALLOWED_TOOLS);
  }
  const name = choice.function?.name;
  if (choice.type !== 'function' || typeof name !== 'string') {
    const message =
      'tool_choice: want auto, none, required, {"type":"function","function":{"name":…}} or {"type":"allowed_tools","allowed_tools":…}';
    throw new InvalidTextRequest('tool_choice', message);
  }
  return { tools, toolChoice: namedTool(name, tools, 'tool_choice.function.name') };
}

function formatOf(value: Readonly<Record<string, unknown>> | undefined): OutputFormat {
  if (value === undefined || value['type'] === 'text') return { type: 'text' };
  if (value['type'] === 'json_object') return { type: 'json_object' };
  return schemaFormat(value['json_schema'], 'response_format.json_schema');
}
