/**
 * The answer that a prompt itself contains: the first of the model's few skills that fits answers it. What it does not
 * find in the conversation it does not know, and its answer says so.
 */
import type { Conversation } from '../reading/conversation.ts';
import type { WantedForm } from '../reading/requested-form.ts';
import { meaningfulWords, sentencesOf } from '../reading/words.ts';
import { workOut } from './arithmetic.ts';
import { echo, standingEcho } from './echo.ts';
import { countUp, firstSentences, inWords } from './text-tasks.ts';
import { describePictures } from './images.ts';
import { askingSentence, onlyNumber, ownRole, recall } from './recall.ts';

/** @param maxTokens the limit of the answer. @returns undefined: the prompt only names a topic to write about. */
export async function answerFromPrompt(
  conversation: Conversation,
  form: WantedForm,
  maxTokens: number,
): Promise<string | undefined> {
  const { asked, question, lastAnswer, results } = conversation;
  const repeated = standingEcho(conversation.instructions);
  if (repeated !== undefined) return repeated;
  if (results.length > 0) return fromResults(conversation, form);
  const said = echo(question.slice(0, asked.length), question);
  if (said !== undefined) return said;
  const sum = workOut(asked, lastAnswer);
  if (sum !== undefined) return form.isTerse ? sum.value : `${sum.expression} = ${sum.value}`;
  return (
    countUp(asked, maxTokens) ??
    firstSentences(conversation, form) ??
    describePictures(conversation.images) ??
    (await fromConversation(conversation)) ??
    greeting(asked) ??
    acknowledgement(asked) ??
    unknown(asked, form)
  );
}

async function fromResults({ asked, results }: Conversation, form: WantedForm): Promise<string> {
  const asking = form.isTerse ? askingSentence(asked) : undefined;
  const found =
    asking === undefined ? undefined : await recall(asking, results.map(({ content }) => content).toReversed());
  return found === undefined ? inWords(results) : onlyNumber(asked, found);
}

async function fromConversation({ asked, question, earlier, instructions }: Conversation): Promise<string | undefined> {
  const asking = askingSentence(asked);
  if (asking === undefined) return undefined;
  const found = ownRole(asking, instructions) ?? (await recall(asking, [question, ...earlier, instructions]));
  return found === undefined ? undefined : onlyNumber(asked, found);
}

function greeting(asked: string): string | undefined {
  const isGreeting =
    asked.length < 120 && /^\W{0,3}(?:hi|hello|hey|good (?:morning|evening|afternoon|day))\b/i.test(asked);
  return isGreeting && !/\bmy name is\b/i.test(asked) ? 'Hello! What can I do for you?' : undefined;
}

function acknowledgement(asked: string): string | undefined {
  const sentences = sentencesOf(asked);
  if (asked.includes('?') || !/\b(?:my|i am|i'm|remember|note that|keep in mind)\b/i.test(asked)) return undefined;
  const told = sentences.find((sentence) => /\b(?:is|are|am|have|has|was|live|like|called)\b|['’]m\b/i.test(sentence));
  return told === undefined ? undefined : `Noted: ${told}`;
}

/** A short question about the world, of which this model knows nothing. */
function unknown(asked: string, form: WantedForm): string | undefined {
  const asking = askingSentence(asked);
  if (asking === undefined || !/^\W{0,3}(?:what|who|whom|whose|where|when|which|name the)\b/i.test(asking))
    return undefined;
  if (form.isTerse || form.words === 1) return 'Unknown';
  const topic = meaningfulWords(asking).slice(0, 4).join(', ');
  return topic === '' ? undefined : `I do not know: nothing in this conversation tells me (${topic}).`;
}
