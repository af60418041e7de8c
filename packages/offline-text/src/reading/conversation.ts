/**
 * A request's conversation as the offline text model sees it: its instructions, the current question, the results of
 * its calls, and the earlier messages.
 */
import type { ContentPart, Message } from '../request.ts';
import { excerptOf } from './words.ts';

/** The result of a function. */
export interface CallResult {
  readonly name: string;
  readonly content: string;
}

export interface Conversation {
  /** The messages of system and developer. */
  readonly instructions: string;
  /** The last message of the user, whole. */
  readonly prompt: string;
  /** Its beginning and its end, if it is long. */
  readonly excerpt: string;
  readonly images: readonly Extract<ContentPart, { type: 'image' }>[];
  /** The results returned since the question. */
  readonly results: readonly CallResult[];
  /** The messages before the question, without the instructions; the latest first. */
  readonly earlier: readonly string[];
  /** The last answer of the model itself before the question. */
  readonly lastAnswer: string | undefined;
}

export function readConversation(messages: readonly Message[]): Conversation {
  const index = Math.max(
    messages.findLastIndex(({ role }) => role === 'user'),
    0,
  );
  const prompt = messages[index];
  const before = messages.slice(0, index).filter(({ role }) => role !== 'system' && role !== 'developer');
  const text = prompt === undefined ? '' : joinText(prompt.content);
  return {
    instructions: messages
      .filter(({ role }) => role === 'system' || role === 'developer')
      .map(({ content }) => joinText(content))
      .join('\n'),
    prompt: text,
    excerpt: excerptOf(text),
    images: (prompt?.content ?? []).filter((part) => part.type === 'image'),
    results: collectResults(messages, index + 1),
    earlier: before.map(({ content }) => joinText(content)).toReversed(),
    lastAnswer: before
      .filter(({ role, content }) => role === 'assistant' && content.length > 0)
      .map(({ content }) => joinText(content))
      .at(-1),
  };
}

function joinText(content: readonly ContentPart[]): string {
  return content
    .filter((part) => part.type !== 'image')
    .map((part) => (part.type === 'text' ? part.text : part.refusal))
    .join('\n');
}

function collectResults(messages: readonly Message[], from: number): readonly CallResult[] {
  const names = new Map<string, string>();
  for (const message of messages) {
    if (message.role === 'assistant') for (const { id, name } of message.toolCalls) names.set(id, name);
  }
  return messages
    .slice(from)
    .flatMap((message) =>
      message.role === 'tool'
        ? [{ name: names.get(message.toolCallId) ?? 'the function', content: joinText(message.content) }]
        : [],
    );
}
