/**
 * The answer that a prompt itself contains: the first of the model's few skills that fits answers it. What it does not
 * find in the conversation it does not know, and its answer says so.
 */
import type { Conversation } from '../reading/conversation.ts';
import type { RequestedForm } from '../reading/requested-form.ts';
import { meaningfulWords, sentencesOf } from '../reading/words.ts';
import { calculate } from './arithmetic.ts';
import { findEcho, findStandingEcho } from './echo.ts';
import { countUp, summarize, formatResults } from './text-tasks.ts';
import { describeImages } from './images.ts';
import { findQuestion, onlyNumber, ownRole, recall } from './recall.ts';

/** @param maxTokens the limit of the answer. @returns undefined: the prompt only names a topic to write about. */
export async function answerFromPrompt(
  conversation: Conversation,
  form: RequestedForm,
  maxTokens: number,
): Promise<string | undefined> {
  const { excerpt, prompt, lastAnswer, results } = conversation;
  const repeated = findStandingEcho(conversation.instructions);
  if (repeated !== undefined) return repeated;
  if (results.length > 0) return answerFromResults(conversation, form);
  const echoed = findEcho(prompt.slice(0, excerpt.length), prompt);
  if (echoed !== undefined) return echoed;
  const sum = calculate(excerpt, lastAnswer);
  if (sum !== undefined) return form.isTerse ? sum.value : `${sum.expression} = ${sum.value}`;
  return (
    countUp(excerpt, maxTokens) ??
    summarize(conversation, form) ??
    describeImages(conversation.images) ??
    (await answerFromConversation(conversation)) ??
    greeting(excerpt) ??
    acknowledgement(excerpt) ??
    unknownAnswer(excerpt, form)
  );
}

/** Whether an answer has nothing that the conversation asked for. */
export function isOwnAnswer(answer: string, { excerpt }: Conversation, form: RequestedForm): boolean {
  return answer === greeting(excerpt) || answer === unknownAnswer(excerpt, form);
}

async function answerFromResults({ excerpt, results }: Conversation, form: RequestedForm): Promise<string> {
  const questionSentence = form.isTerse ? findQuestion(excerpt) : undefined;
  const found =
    questionSentence === undefined
      ? undefined
      : await recall(questionSentence, results.map(({ content }) => content).toReversed());
  return found === undefined ? formatResults(results) : onlyNumber(excerpt, found);
}

async function answerFromConversation({
  excerpt,
  prompt,
  earlier,
  instructions,
}: Conversation): Promise<string | undefined> {
  const questionSentence = findQuestion(excerpt);
  if (questionSentence === undefined) return undefined;
  const found =
    ownRole(questionSentence, instructions) ?? (await recall(questionSentence, [prompt, ...earlier, instructions]));
  return found === undefined ? undefined : onlyNumber(excerpt, found);
}

function greeting(excerpt: string): string | undefined {
  const isGreeting =
    excerpt.length < 120 && /^\W{0,3}(?:hi|hello|hey|good (?:morning|evening|afternoon|day))\b/i.test(excerpt);
  return isGreeting && !/\bmy name is\b/i.test(excerpt) ? 'Hello! What can I do for you?' : undefined;
}

function acknowledgement(excerpt: string): string | undefined {
  const sentences = sentencesOf(excerpt);
  if (excerpt.includes('?') || !/\b(?:my|i am|i'm|remember|note that|keep in mind)\b/i.test(excerpt)) return undefined;
  const statement = sentences.find((sentence) =>
    /\b(?:is|are|am|have|has|was|live|like|called)\b|['’]m\b/i.test(sentence),
  );
  return statement === undefined ? undefined : `Noted: ${statement}`;
}

/** A short question about the world, of which this model knows nothing. */
function unknownAnswer(excerpt: string, form: RequestedForm): string | undefined {
  const questionSentence = findQuestion(excerpt);
  if (
    questionSentence === undefined ||
    !/^\W{0,3}(?:what|who|whom|whose|where|when|which|name the)\b/i.test(questionSentence)
  )
    return undefined;
  if (form.isTerse || form.words === 1) return 'Unknown';
  const topic = meaningfulWords(questionSentence).slice(0, 4).join(', ');
  return topic === '' ? undefined : `I do not know: nothing in this conversation tells me (${topic}).`;
}
