/**
 * From the body of `POST /responses`, and the conversation that it continues, to the common form (contract §9), and to
 * what the response object repeats. Everything that contradicts itself, or that no model here could honour, is
 * rejected with the field and the reason; what this particular model cannot do is left to features.ts.
 */
import { ResponsesRequestSchema } from '@darkroom/api/openai/responses-request';
import type { WireReasoning, WireTool } from '@darkroom/api/openai/responses-request';
import type { TextModelDefinition } from '../../catalogue/text-definition.ts';
import { compileOpenAiParse, openAiCodeOf } from '../../schema/openai-parse.ts';
import { given, reasoningEffortOf, schemaFormat, requireBoundedSchemas } from '../parameters.ts';
import type { OutputFormat, TextRequest } from '../request.ts';
import { InvalidTextRequest } from '../text-failure.ts';
import type { RequestedImageTool } from '../tools/image-tool.ts';
import { messagesOf, withoutLoneReasoning } from './conversation.ts';
import { decodeInput } from './decode-input.ts';
import type { EarlierItems } from './decode-input.ts';
import { withoutImageCalls } from './image-calls.ts';
import { INCLUDABLE, LOGPROBS, SEALED_REASONING } from './included.ts';
import type { ModelItem, UnnamedInputItem } from './items.ts';
import type { EchoedTool, ResponseEcho } from './response-object.ts';
import { decodeToolChoice, decodeTools } from './tool-choice.ts';

/** A body with a valid outer form. */
export interface ResponsesBody extends Readonly<Record<string, unknown>> {
  readonly model: string;
  readonly input?: string | readonly Readonly<Record<string, unknown>>[] | null;
  readonly previous_response_id?: string | null;
  readonly stream?: boolean | null;
  readonly background?: boolean | null;
}

/** How an answer is to be rendered. */
export interface Rendering {
  readonly echo: ResponseEcho;
  readonly showsLogprobs: boolean;
  /** Reasoning is also sealed, to be sent back if nothing is stored. */
  readonly sealsReasoning: boolean;
}

export interface DecodedResponsesRequest {
  readonly request: TextRequest;
  readonly rendering: Rendering;
  /** The request's own input, without the conversation before it: what is stored with the response. */
  readonly input: readonly UnnamedInputItem[];
  /** The text before everything else. */
  readonly instructions: string | undefined;
  /** The whole conversation, from which the messages of `request` are built. */
  readonly items: readonly ModelItem[];
  /** The built-in tool, if the model may call it. */
  readonly imageTool: RequestedImageTool | undefined;
  readonly isStored: boolean;
  /** `auto`: what the model cannot take is left out from the beginning (conversation.ts). */
  readonly truncation: 'auto' | 'disabled';
}

const KNOWN_PARAMETERS: ReadonlySet<string> = new Set(Object.keys(ResponsesRequestSchema.properties));

/** OpenAI's own parameters that nothing here can honour, and those of their values that request nothing. */
const UNSUPPORTED_PARAMETERS: Readonly<Record<string, { readonly advice: string; readonly idle?: unknown }>> = {
  conversation: { advice: 'use previous_response_id' },
  prompt: { advice: 'send the whole prompt as input and instructions' },
  context_management: { advice: 'use truncation' },
  moderation: { advice: 'nothing is moderated here' },
  prompt_cache_options: { advice: 'use prompt_cache_key and prompt_cache_retention' },
};

/** Where the schemas are. */
const SCHEMAS = { format: 'text.format.schema', parameters: (index: number) => `tools.${index}.parameters` };

const parse = compileOpenAiParse(ResponsesRequestSchema);

/** Validates the outer form. @returns the body without empty strings that may be left out. @throws {InvalidTextRequest} */
export function checkResponsesBody(body: Readonly<Record<string, unknown>>): ResponsesBody {
  const parsed = parse(body);
  const { violation } = parsed;
  if (violation === undefined) return parsed.value;
  throw new InvalidTextRequest(
    violation.field === '' ? undefined : violation.field,
    violation.message,
    openAiCodeOf(violation),
  );
}

/**
 * @param body as validated.
 * @param model the model that it names: it may accept parameters of its own.
 * @param earlier what the request refers to (stored-responses.ts).
 * @throws {InvalidTextRequest}
 */
export function decodeResponsesRequest(
  body: ResponsesBody,
  model: Pick<TextModelDefinition, 'extraParameters' | 'features'>,
  earlier: EarlierItems,
): DecodedResponsesRequest {
  assertKnownParameters(body, model);
  const input = inputOf(body, earlier);
  const wireTools = given<readonly WireTool[]>(body['tools']) ?? [];
  const allTools = decodeTools(wireTools, body);
  const reasoning = reasoningOf(body);
  const text = given<{ format?: Readonly<Record<string, unknown>>; verbosity?: TextRequest['verbosity'] | null }>(
    body['text'],
  );
  const format = formatOf(given(text?.format));
  requireBoundedSchemas({ format, tools: allTools.functions }, SCHEMAS);
  const includes = includesOf(body);
  const topLogprobs = given<number>(body['top_logprobs']);
  const showsLogprobs = includes.has(LOGPROBS) || (topLogprobs ?? 0) > 0;
  const instructions = given<string>(body['instructions']);
  const images = { functionName: allTools.imageFunction, takesImages: model.features.includes('images') };
  const items = withoutLoneReasoning(withoutImageCalls([...earlier.conversation, ...input], images));
  const request: TextRequest = {
    model: body.model,
    messages: messagesOf(instructions, items),
    maxOutputTokens: given(body['max_output_tokens']),
    stop: [],
    choices: 1,
    temperature: given(body['temperature']),
    topP: given(body['top_p']),
    frequencyPenalty: given(body['frequency_penalty']),
    presencePenalty: given(body['presence_penalty']),
    logitBias: undefined,
    seed: undefined,
    topLogprobs: showsLogprobs ? (topLogprobs ?? 0) : undefined,
    format,
    ...decodeToolChoice(given(body['tool_choice']), allTools),
    parallelToolCalls: given<boolean>(body['parallel_tool_calls']) ?? true,
    reasoningEffort: reasoning.effort,
    verbosity: given(text?.verbosity),
  };
  const isStored = given<boolean>(body['store']) ?? true;
  if (!isStored && body.background === true) {
    throw new InvalidTextRequest('store', 'store: a response in the background is stored; leave it out or send true');
  }
  const echo = echoOf(body, { request, summary: reasoning.summary, isStored, tools: wireTools });
  return {
    request,
    rendering: {
      echo,
      showsLogprobs,
      sealsReasoning: includes.has(SEALED_REASONING),
    },
    input,
    instructions,
    items,
    imageTool: mayCall(request, allTools.image) ? allTools.image : undefined,
    isStored,
    truncation: echo.truncation,
  };
}

/** Whether the model is offered the built-in tool. */
function mayCall({ tools, toolChoice }: TextRequest, image: RequestedImageTool | undefined): boolean {
  return toolChoice !== 'none' && tools.some((tool) => tool === image?.offered);
}

function assertKnownParameters(
  body: ResponsesBody,
  { extraParameters = [] }: Pick<TextModelDefinition, 'extraParameters'>,
): void {
  for (const [name, value] of Object.entries(body)) {
    const unsupported = Object.hasOwn(UNSUPPORTED_PARAMETERS, name) ? UNSUPPORTED_PARAMETERS[name] : undefined;
    const shown = JSON.stringify(name.slice(0, 64));
    if (unsupported !== undefined) {
      if (given(value) === undefined || value === unsupported.idle) continue;
      const message = `unsupported parameter: ${shown}: ${unsupported.advice}`;
      throw new InvalidTextRequest(name, message, 'unsupported_parameter');
    }
    if (KNOWN_PARAMETERS.has(name) || extraParameters.includes(name)) continue;
    throw new InvalidTextRequest(name.slice(0, 64), `unknown parameter: ${shown}`, 'unknown_parameter');
  }
}

function inputOf(body: ResponsesBody, earlier: EarlierItems): readonly UnnamedInputItem[] {
  const wire = given<NonNullable<ResponsesBody['input']>>(body.input) ?? [];
  const input = decodeInput(wire, earlier);
  if (input.length === 0 && earlier.conversation.length === 0) {
    const message = 'input: give a text or at least one item, or continue a response with previous_response_id';
    throw new InvalidTextRequest('input', message, 'missing_required_parameter');
  }
  return input;
}

function reasoningOf(body: ResponsesBody): {
  readonly effort: TextRequest['reasoningEffort'];
  readonly summary: string | undefined;
} {
  const reasoning = given<WireReasoning>(body['reasoning']);
  const effort = reasoningEffortOf(undefined, {
    effort: given(reasoning?.effort),
    enabled: given(reasoning?.enabled),
  });
  const summary = given<string>(reasoning?.summary);
  const older = given<string>(reasoning?.generate_summary);
  if (summary !== undefined && older !== undefined && summary !== older) {
    const message = `reasoning.summary is ${summary} and reasoning.generate_summary is ${older}; send only one`;
    throw new InvalidTextRequest('reasoning.generate_summary', message);
  }
  return { effort, summary: summary ?? older };
}

function formatOf(value: Readonly<Record<string, unknown>> | undefined): OutputFormat {
  if (value === undefined || value['type'] === 'text') return { type: 'text' };
  if (value['type'] === 'json_object') return { type: 'json_object' };
  return schemaFormat(value, 'text.format');
}

function includesOf(body: ResponsesBody): ReadonlySet<string> {
  const include = given<readonly string[]>(body['include']) ?? [];
  include.forEach((name, index) => {
    if (INCLUDABLE.some((includable) => includable === name)) return;
    const param = `include.${index}`;
    const shown = JSON.stringify(name.slice(0, 64));
    const message = `unsupported parameter: ${param}: got ${shown}, want one of ${INCLUDABLE.join(', ')}`;
    throw new InvalidTextRequest(param, message, 'unsupported_parameter');
  });
  return new Set(include);
}

function echoOf(
  body: ResponsesBody,
  decoded: {
    readonly request: TextRequest;
    readonly summary: string | undefined;
    readonly isStored: boolean;
    readonly tools: readonly WireTool[];
  },
): ResponseEcho {
  const { request } = decoded;
  const user = given<string>(body['user']);
  const retention = given<string>(body['prompt_cache_retention']);
  return {
    background: body.background === true,
    instructions: given<string>(body['instructions']) ?? null,
    max_output_tokens: request.maxOutputTokens ?? null,
    max_tool_calls: given<number>(body['max_tool_calls']) ?? null,
    parallel_tool_calls: request.parallelToolCalls,
    previous_response_id: given<string>(body.previous_response_id) ?? null,
    reasoning: { effort: request.reasoningEffort ?? null, summary: decoded.summary ?? null },
    store: decoded.isStored,
    temperature: request.temperature ?? 1,
    top_p: request.topP ?? 1,
    presence_penalty: request.presencePenalty ?? 0,
    frequency_penalty: request.frequencyPenalty ?? 0,
    top_logprobs: request.topLogprobs ?? 0,
    text: {
      format: { ...request.format },
      ...(request.verbosity === undefined ? {} : { verbosity: request.verbosity }),
    },
    tool_choice: echoedChoice(given(body['tool_choice'])),
    tools: decoded.tools.map(echoedTool),
    truncation: given<'auto' | 'disabled'>(body['truncation']) ?? 'disabled',
    metadata: given<Readonly<Record<string, string>>>(body['metadata']) ?? {},
    safety_identifier: given<string>(body['safety_identifier']) ?? null,
    prompt_cache_key: given<string>(body['prompt_cache_key']) ?? null,
    ...(user === undefined ? {} : { user }),
    // Two forms of it are in use; OpenAI's documentation has this one.
    ...(retention === undefined ? {} : { prompt_cache_retention: retention.replace('in-memory', 'in_memory') }),
  };
}

/** A null of the built-in tool counts as absent: OpenAI's document allows it for none of the fields. */
function echoedTool(tool: WireTool): EchoedTool {
  if (tool.type === 'image_generation') {
    return { ...Object.fromEntries(Object.entries(tool).filter(([, value]) => value !== null)), type: tool.type };
  }
  const { name, description, parameters, strict } = tool;
  return {
    type: 'function',
    name,
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? null,
  };
}

/** Every field of `allowed_tools` has a value; a null counts as absent. */
function echoedChoice(
  choice: string | Readonly<Record<string, unknown>> | undefined,
): string | Readonly<Record<string, unknown>> {
  if (choice === undefined || typeof choice === 'string') return choice ?? 'auto';
  return choice['type'] === 'allowed_tools' ? { ...choice, mode: given(choice['mode']) ?? 'auto' } : choice;
}
