/** What one answer will consist of, before any of it is emitted: the reasoning, and then a text or calls. */
import { createRandom, hashText } from '@darkroom/seeded-random/random';
import type { JsonSchema, OutputFormat, OfflineTextRequest } from './request.ts';
import { answerFromPrompt, isOwnAnswer } from './answers/answer-text.ts';
import { formatResults } from './answers/text-tasks.ts';
import { prose } from './answers/prose.ts';
import { findRequestedJson } from './json/requested-json.ts';
import type { RequestedJson } from './json/requested-json.ts';
import { instanceOf } from './json/instance.ts';
import { SchemaReader } from './json/schema-reader.ts';
import { readConversation } from './reading/conversation.ts';
import type { Conversation } from './reading/conversation.ts';
import { FoundValues } from './reading/found-values.ts';
import { inForm, isFree, readRequestedForm } from './reading/requested-form.ts';
import { reasoningOf } from './reasoning.ts';
import { plannedCalls } from './tool-calls.ts';
import type { PlannedCall } from './tool-calls.ts';

export interface AnswerPlan {
  readonly reasoning: string;
  readonly text: string;
  /** If there are calls, there is no text. */
  readonly calls: readonly PlannedCall[];
}

/** The number of characters in the longest token of the vocabulary: text beyond what the cap allows is cut anyway. */
const CHARACTERS_PER_TOKEN = 128;
/** Where the model has nothing to say, it says what it is: once, and not where it would change a form or be cut. */
const INTRODUCTION =
  'I am the conformance model of Darkroom: I answer by simple rules and am no language model. To add a real one, put a model file for any server with the interface of OpenAI into MODELS_DIR: docs/guides/text-models.md, "A real model".';
const FEWEST_TOKENS_TO_INTRODUCE = 256;
const ANSWER_OBJECT: JsonSchema = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] };

/**
 * Reads a request once.
 *
 * @param maxTokens the cap. @returns a function that plans an answer; the same seed gives the same answer.
 */
export async function createPlanner(
  request: OfflineTextRequest,
  maxTokens: number,
): Promise<(seed: string) => AnswerPlan> {
  const conversation = readConversation(request.messages);
  const form = readRequestedForm(conversation);
  const calls = plannedCalls(request, conversation, maxTokens);
  const known = calls.length > 0 ? '' : await answerFromPrompt(conversation, form, maxTokens);
  const json = resolveJson(request.format, conversation);
  const reader = json === undefined ? undefined : new SchemaReader(json.schema);
  const earlier = conversation.earlier.join('\n');
  const isIntroduced =
    json === undefined &&
    conversation.lastAnswer === undefined &&
    maxTokens >= FEWEST_TOKENS_TO_INTRODUCE &&
    isFree(form) &&
    (known === undefined || isOwnAnswer(known, conversation, form));
  return (seed) => {
    const random = createRandom(hashText(seed));
    const reasoning = reasoningOf(conversation, request.reasoningEffort, random.fork('reasoning'));
    if (calls.length > 0) return { reasoning, text: '', calls };
    const writing = { excerpt: conversation.excerpt, form, verbosity: request.verbosity ?? 'medium' };
    let text = inForm(known ?? prose({ ...writing, random: random.fork('prose') }), form);
    if (isIntroduced) text = `${text}\n\n${INTRODUCTION}`;
    if (json !== undefined) {
      const found = new FoundValues(json.rest, earlier);
      const options = { found, random: random.fork('instance'), fill: 'all', maxTokens, answer: text } as const;
      text = JSON.stringify(instanceOf(json.schema, options, reader));
    }
    return { reasoning, text: cutAtStop(text.slice(0, maxTokens * CHARACTERS_PER_TOKEN), request.stop), calls };
  };
}

/** The JSON that the answer has to be; undefined: it is a text. */
function resolveJson(format: OutputFormat, conversation: Conversation): RequestedJson | undefined {
  const { prompt, results, excerpt } = conversation;
  // The results of functions are what the prompt asked for.
  const withResults = (text: string): string => (results.length === 0 ? text : `${formatResults(results)}\n${text}`);
  if (format.type === 'json_schema') return { schema: format.schema, rest: withResults(prompt) };
  if (format.type === 'text' && !/\bJSON\b/i.test(excerpt)) return undefined;
  const requested = findRequestedJson(conversation);
  if (format.type === 'text' && requested === undefined) return undefined;
  const { schema, rest } = requested ?? { schema: ANSWER_OBJECT, rest: prompt };
  return { schema: { ...schema, type: 'object' }, rest: withResults(rest) };
}

/** The text before the first of the stop sequences. */
function cutAtStop(text: string, stop: readonly string[]): string {
  const offsets = stop.filter((sequence) => sequence !== '').map((sequence) => text.indexOf(sequence));
  const found = offsets.filter((index) => index >= 0);
  return found.length === 0 ? text : text.slice(0, Math.min(...found));
}
