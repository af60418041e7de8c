/** Calls the offline text model as an endpoint does, and collects its events. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { TextModelDefinition } from '../../../src/catalogue/text-definition.ts';
import { PACKAGE_ROOT } from '../../../src/config/package-root.ts';
import { createEmbeddedTextSource } from '../../../src/text/offline-source.ts';
import type {
  FinishReason,
  TextEvent,
  TokenLogprob,
  TokenUsage,
  TextCall,
  TextSource,
} from '../../../src/text/source.ts';
import type { FunctionTool, Message, TextRequest, ToolCall } from '../../../src/text/request.ts';
import { Tally } from '../../../src/text/tally.ts';
import { createTextThreads } from '../../../src/text/threads/text-threads.ts';
import { textRequest } from '../text-request.ts';

/** The model as in the catalogue. */
export const MODEL = JSON.parse(
  readFileSync(path.join(PACKAGE_ROOT, 'models/conformance-text.json'), 'utf8'),
) as TextModelDefinition;

/** Shared by all tests of a file. They do not keep the process alive. */
export const threads = createTextThreads();
const source = createEmbeddedTextSource(threads);
let calls = 0;

export interface Answer {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ToolCall[];
  readonly finish: FinishReason | undefined;
  readonly logprobs: readonly TokenLogprob[];
}

export interface Answered {
  /** The first choice. */
  readonly answer: Answer;
  readonly answers: readonly Answer[];
  readonly events: readonly TextEvent[];
  readonly usage: TokenUsage;
}

export function says(role: 'user' | 'system' | 'assistant', text: string): Message {
  const content = [{ type: 'text', text }] as const;
  return role === 'assistant' ? { role, content, toolCalls: [] } : { role, content };
}

/** A tool call of an assistant, and its result. */
export function called(name: string, args: string, result: string): readonly Message[] {
  return [
    { role: 'assistant', content: [], toolCalls: [{ id: `call_${name}`, name, arguments: args }] },
    { role: 'tool', toolCallId: `call_${name}`, content: [{ type: 'text', text: result }] },
  ];
}

export function tool(
  name: string,
  properties: object,
  required: readonly string[],
  description?: string,
): FunctionTool {
  const parameters = { type: 'object', properties, required, additionalProperties: false };
  return description === undefined ? { name, parameters } : { name, description, parameters };
}

/** A request with every parameter at its default. @param prompt the conversation, or the user's message. */
export function requestOf(prompt: string | readonly Message[], given: Partial<TextRequest> = {}): TextRequest {
  return textRequest({
    model: MODEL.name,
    messages: typeof prompt === 'string' ? [says('user', prompt)] : prompt,
    ...given,
  });
}

export function callOf(request: TextRequest, model: TextModelDefinition = MODEL): TextCall {
  calls += 1;
  return {
    id: `chatcmpl-${calls}`,
    surface: 'chat',
    model,
    request,
    body: {},
    isStreamed: true,
    tally: new Tally(0),
    createdAt: 1_763_683_200,
    accountId: 'acc_test',
  };
}

export async function ask(
  prompt: string | readonly Message[],
  given: Partial<TextRequest> = {},
  from: TextSource = source,
): Promise<Answered> {
  const opened = await from.open(callOf(requestOf(prompt, given)), new AbortController().signal);
  assert.ok(opened.kind === 'events');
  const events: TextEvent[] = [];
  for await (const event of opened.events) events.push(event);
  return gather(events, given.choices ?? 1);
}

/** The text of the answer. */
export async function textOf(prompt: string | readonly Message[], given: Partial<TextRequest> = {}): Promise<string> {
  return (await ask(prompt, given)).answer.text;
}

/** The tool calls, with their arguments parsed. */
export async function callsOf(
  prompt: string | readonly Message[],
  given: Partial<TextRequest>,
): Promise<readonly { readonly name: string; readonly arguments: unknown }[]> {
  const { answer } = await ask(prompt, given);
  return answer.calls.map((call) => ({ name: call.name, arguments: JSON.parse(call.arguments) as unknown }));
}

/** The value of an answer in JSON. */
export async function jsonOf(prompt: string | readonly Message[], given: Partial<TextRequest>): Promise<unknown> {
  return JSON.parse(await textOf(prompt, given)) as unknown;
}

function gather(events: readonly TextEvent[], choices: number): Answered {
  const last = events.at(-1);
  assert.ok(last?.type === 'usage', 'usage comes last');
  const answers = Array.from({ length: choices }, (_, choice) => answerIn(events, choice));
  const [answer] = answers;
  assert.ok(answer !== undefined);
  return { answer, answers, events, usage: last.usage };
}

function answerIn(events: readonly TextEvent[], choice: number): Answer {
  const own = events.filter((event) => event.type !== 'usage' && event.choice === choice);
  const joined = (type: 'text' | 'reasoning'): string =>
    own.map((event) => (event.type === type ? event.text : '')).join('');
  const calls = own.flatMap((event) => (event.type === 'tool_call' ? [event] : []));
  const finish = own.at(-1);
  return {
    text: joined('text'),
    reasoning: joined('reasoning'),
    calls: calls.map(({ id, name, index }) => ({
      id,
      name,
      arguments: own
        .map((event) => (event.type === 'tool_arguments' && event.index === index ? event.text : ''))
        .join(''),
    })),
    finish: finish?.type === 'finish' ? finish.reason : undefined,
    logprobs: own.flatMap((event) => (event.type === 'text' ? (event.logprobs ?? []) : [])),
  };
}
