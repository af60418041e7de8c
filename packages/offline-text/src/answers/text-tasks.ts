/** Tasks that use the given content: counting, the first sentences of a text, and the results of functions. */
import type { CallResult, Conversation } from '../reading/conversation.ts';
import type { RequestedForm } from '../reading/requested-form.ts';
import { sentencesOf } from '../reading/words.ts';
import { membersOf } from './recall.ts';

const COUNTING =
  /\b(?:count|list|numbers|write|print)\b[^.\n]{0,30}?\b(?:from (-?\d{1,9}) )?(?:up |down )?to (-?\d{1,9})\b(?: (?:by|in steps of) (\d{1,6}))?/i;

/** @param limit at most this many numbers. */
export function countUp(excerpt: string, limit: number): string | undefined {
  const [whole, low = '1', high, by = '1'] = COUNTING.exec(excerpt) ?? [];
  if (whole === undefined || high === undefined || !/\bcount\b|\bnumbers\b/i.test(whole)) return undefined;
  const [from, to, step] = [Number(low), Number(high), Math.max(Number(by), 1)];
  const length = Math.min(Math.floor(Math.abs(to - from) / step) + 1, limit);
  const sign = to < from ? -1 : 1;
  const numbers = Array.from({ length }, (_, index) => from + sign * index * step);
  return numbers.join(/\b(?:each|one) (?:on (?:a|its own) |per )line\b/i.test(excerpt) ? '\n' : ', ');
}

const SUMMARY = /\b(?:summari[sz]e|summary|tl;?dr|sum up|condense|shorten|first (?:\w+ )?sentences?)\b/i;
/** Shorter texts are the command itself. */
const LEAST_TEXT = 40;
const MAX_SENTENCES = 2;

/** The first sentences of the text to summarize: after the command, before it, or earlier in the conversation. */
export function summarize(conversation: Conversation, form: RequestedForm): string | undefined {
  const { prompt, excerpt, earlier } = conversation;
  if (!SUMMARY.test(excerpt)) return undefined;
  const command = SUMMARY.exec(prompt.slice(0, LEAST_TEXT * 10));
  const end = command === null ? -1 : prompt.slice(command.index).search(/[:\n]/);
  const after = command === null || end < 0 ? '' : prompt.slice(command.index + end + 1);
  const before = sentencesOf(prompt.slice(0, 64 * 1024)).filter((sentence) => !SUMMARY.test(sentence));
  const source = [after.trim(), before.join(' '), ...earlier].find((text) => text.length >= LEAST_TEXT);
  if (source === undefined) return undefined;
  return sentencesOf(source.slice(0, 64 * 1024))
    .slice(0, form.sentences ?? MAX_SENTENCES)
    .join(' ');
}

/** The results of functions, in words: `temp_c: 18, conditions: rain`. */
export function formatResults(results: readonly CallResult[]): string {
  const lines = results.map(({ name, content }) => {
    const words = membersOf(content)?.join(', ') ?? content.trim();
    const text = words === '' ? 'done' : words;
    return results.length === 1 ? text : `${name}: ${text}`;
  });
  return lines.join('\n');
}
