/**
 * Which functions the offline text model calls, and with what: the one that is named, at least one if that is
 * required, and otherwise those whose names or descriptions the prompt clearly refers to. Once a result is there it
 * answers, so that agents' loops end.
 */
import { createRandom, hashText } from '@darkroom/seeded-random/random';
import type { FunctionTool, JsonSchema, OfflineTextRequest } from './request.ts';
import { instanceOf } from './json/instance.ts';
import { isObject, listOf, typesOf } from './json/schema-reader.ts';
import type { Conversation } from './reading/conversation.ts';
import { FoundValues } from './reading/found-values.ts';
import { meaningfulWords, stemOf, wordsOf, wordsOfName } from './reading/words.ts';

export interface PlannedCall {
  readonly name: string;
  /** JSON. */
  readonly arguments: string;
}

/** Calls in one answer. */
const MAX_CALLS = 16;
const FORBIDDEN =
  /\b(?:do not|don['’]t|never|without) (?:use|using|call|calling) (?:any |the |a )?(?:tools?|functions?)\b/i;

/** Words in names that do not distinguish one function from another. */
const GENERAL = new Set(
  `get set fetch read write create make do run call use find search list send show look lookup tell add update delete
  current new all data info information by for of the in on to and with a an or from user tool function value given name
  return returns it this that when where`.split(/\s+/),
);

/** @param maxTokens longer arguments would be cut anyway. @returns an empty list: it answers in words. */
export function plannedCalls(
  request: OfflineTextRequest,
  conversation: Conversation,
  maxTokens: number,
): readonly PlannedCall[] {
  const { tools, toolChoice } = request;
  if (tools.length === 0 || toolChoice === 'none') return [];
  const { prompt, results, earlier } = conversation;
  const call = (tool: FunctionTool, settled: Readonly<Record<string, unknown>> = {}): PlannedCall => ({
    name: tool.name,
    arguments: JSON.stringify(
      instanceOf(parametersOf(tool), {
        found: new FoundValues(prompt, earlier.join('\n')),
        random: createRandom(hashText(`${tool.name}\n${conversation.excerpt}`)),
        fill: 'found',
        maxTokens,
        settled,
      }),
    ),
  });
  if (typeof toolChoice === 'object')
    return tools.filter(({ name }) => name === toolChoice.name).map((tool) => call(tool));
  if (toolChoice === 'auto' && (results.length > 0 || FORBIDDEN.test(conversation.excerpt))) return [];
  const fitting = fittingTools(tools, conversation.excerpt);
  const chosen = fitting.length > 0 || toolChoice === 'auto' ? fitting : tools.slice(0, 1);
  if (!request.parallelToolCalls) return chosen.slice(0, 1).map((tool) => call(tool));
  return chosen
    .slice(0, MAX_CALLS)
    .flatMap((tool) => repeatForRow(tool, prompt).map((settled) => ({ tool, settled })))
    .slice(0, MAX_CALLS)
    .map(({ tool, settled }) => call(tool, settled));
}

function parametersOf({ parameters = {} }: FunctionTool): JsonSchema {
  return typesOf(parameters).includes('object') ? parameters : { ...parameters, type: 'object' };
}

interface Fit {
  readonly tool: FunctionTool;
  /** Words of the prompt that are in the function's name. */
  readonly named: readonly string[];
  readonly score: number;
}

/** The functions that a prompt refers to; of several that the same words refer to, the best. */
function fittingTools(tools: readonly FunctionTool[], excerpt: string): readonly FunctionTool[] {
  const promptStems = new Set(wordsOf(excerpt).map(stemOf));
  const fits = tools.map((tool) => fitOf(tool, excerpt, promptStems)).filter(({ score }) => score > 0);
  const chosen: Fit[] = [];
  const covered = new Set<string>();
  for (const fit of fits.toSorted((left, right) => right.score - left.score)) {
    if (chosen.length > 0 && fit.named.every((word) => covered.has(word))) continue;
    chosen.push(fit);
    for (const word of fit.named) covered.add(word);
  }
  return chosen.map(({ tool }) => tool);
}

function fitOf(tool: FunctionTool, excerpt: string, promptStems: ReadonlySet<string>): Fit {
  const words = wordsOfName(tool.name).map(stemOf);
  const distinctive = words.filter((word) => !GENERAL.has(word) && promptStems.has(word));
  const isWhole = words.length > 0 && words.every((word) => promptStems.has(word));
  const isNamed = excerpt.includes(tool.name) && tool.name.length > 3;
  const described = meaningfulWords((tool.description ?? '').slice(0, 4096))
    .map(stemOf)
    .filter((word) => !GENERAL.has(word) && promptStems.has(word));
  const named = isNamed ? [...distinctive, tool.name] : isWhole && distinctive.length === 0 ? words : distinctive;
  const isFitting = named.length > 0 || described.length > 1;
  return { tool, named, score: isFitting ? named.length * 4 + described.length + (isNamed ? 16 : 0) : 0 };
}

/** One call, or one for each of the things in a row: "the weather in Paris and London". */
function repeatForRow(tool: FunctionTool, prompt: string): readonly Readonly<Record<string, unknown>>[] {
  const { properties, required } = parametersOf(tool);
  const name = listOf(required)
    .map(String)
    .find((key) => isObject(properties) && isPlainText(properties[key]));
  const row = name === undefined ? [] : new FoundValues(prompt).inRow(name);
  return name === undefined || row.length < 2 ? [{}] : row.map((text) => ({ [name]: text }));
}

function isPlainText(schema: unknown): boolean {
  return (
    isObject(schema) &&
    typesOf(schema).includes('string') &&
    schema['enum'] === undefined &&
    schema['format'] === undefined
  );
}
