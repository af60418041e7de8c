/**
 * `chat`: one message from the arguments or stdin, or a conversation on a terminal. The answer is streamed to stdout;
 * reasoning is shown on stderr if requested.
 */
import { createInterface } from 'node:readline';
import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import { streamAnswer } from '../chat-answer.ts';
import type { ChatMessage, ChatRequest } from '../chat-answer.ts';
import { InterruptedError, NotDoneError, UsageError } from '../errors.ts';
import { count } from '../session.ts';
import type { OpenSession, Session } from '../session.ts';
import { readStdin } from '../stdin-text.ts';

interface ChatOptions {
  readonly system?: string;
  readonly reasoning?: boolean;
  readonly maxTokens?: number;
  readonly temperature?: number;
}

export function addChatCommand(program: Command, open: OpenSession): void {
  program
    .command('chat')
    .description('ask a text model; without a message it is read from stdin, or there is a conversation on a terminal')
    .argument('<model>', 'a name as "models --modality text" gives it')
    .argument('[message]', 'the question')
    .option('--system <text>', 'what the model is told beforehand')
    .option('--reasoning', 'let the model think first, and show it')
    .option('--no-reasoning', 'let the model not think')
    .option('--max-tokens <number>', 'reasoning and answer together', count)
    .option('--temperature <number>', 'how freely it answers', decimal)
    .action(async (model: string, message: string | undefined, options: ChatOptions) => {
      const session = await open();
      const { system, reasoning, maxTokens, temperature } = options;
      const request: ChatRequest = {
        model,
        messages: system === undefined ? [] : [{ role: 'system', content: system }],
        ...(reasoning === undefined ? {} : { reasoning: { enabled: reasoning } }),
        ...(maxTokens === undefined ? {} : { max_completion_tokens: maxTokens }),
        ...(temperature === undefined ? {} : { temperature }),
      };
      const isConversation = message === undefined && session.terminal.isInteractive && !session.isJson;
      if (isConversation) await converse(session, request, reasoning === true);
      else await askOnce(session, request, message, reasoning === true);
    });
}

function decimal(value: string): number {
  if (!/^\d+(\.\d+)?$/.test(value)) throw new InvalidArgumentError('Write a number.');
  return Number(value);
}

async function askOnce(
  session: Session,
  request: ChatRequest,
  message: string | undefined,
  showsReasoning: boolean,
): Promise<void> {
  const { api, terminal, world, signal, isJson } = session;
  const content = message ?? (await readStdin(world)).trim();
  if (content === '') throw new UsageError('there is no message: give one, or send it to stdin');
  const asked = withMessage(request, { role: 'user', content });
  if (isJson) {
    terminal.printJson(await api.call('POST', '/chat/completions', { body: asked, signal }));
    return;
  }
  await answer(session, asked, signal, showsReasoning);
}

function withMessage(request: ChatRequest, message: ChatMessage): ChatRequest {
  return { ...request, messages: [...request.messages, message] };
}

/**
 * Prints an answer while it arrives.
 *
 * @returns its text. @throws {NotDoneError} the model refused to answer.
 */
async function answer(
  { api, terminal }: Session,
  request: ChatRequest,
  signal: AbortSignal,
  showsReasoning: boolean,
): Promise<string> {
  let told = '';
  let refusal = '';
  let finish = '';
  let isThinking = false;
  const endThought = (): void => {
    if (isThinking) terminal.sayDim('\n');
    isThinking = false;
  };
  try {
    for await (const part of streamAnswer(api, request, signal)) {
      if (part.kind === 'finish') finish = part.reason;
      else if (part.kind === 'refusal') refusal += part.text;
      else if (part.kind === 'text') {
        endThought();
        told += part.text;
        terminal.write(part.text);
      } else if (showsReasoning) {
        isThinking = true;
        terminal.sayDim(part.text);
      }
    }
  } finally {
    endThought();
    if (told !== '' && !told.endsWith('\n')) terminal.write('\n');
  }
  if (refusal !== '') throw new NotDoneError(`the model refuses: ${refusal}`);
  if (finish === 'length') terminal.say('(the answer was cut off: it may have no more tokens)');
  if (finish === 'content_filter') terminal.say('(the answer was cut off by a content filter)');
  return told;
}

/** Ctrl-C stops the answer, and at the prompt ends the conversation; so does Ctrl-D. */
async function converse(session: Session, begun: ChatRequest, showsReasoning: boolean): Promise<void> {
  const { terminal, world } = session;
  terminal.say(`${begun.model}: Ctrl-C stops an answer, Ctrl-D ends the conversation`);
  const lines = createInterface({ input: world.stdin, output: world.stderr, terminal: true, prompt: '> ' });
  let stop: AbortController | undefined;
  lines.on('SIGINT', () => {
    if (stop === undefined) lines.close();
    else stop.abort(new InterruptedError());
  });
  let request = begun;
  try {
    lines.prompt();
    for await (const line of lines) {
      if (line.trim() !== '') {
        stop = new AbortController();
        const asked = withMessage(request, { role: 'user', content: line });
        const told = await answerOrTell(session, asked, stop.signal, showsReasoning);
        stop = undefined;
        // A message without an answer is not added to the conversation.
        if (told !== undefined) request = withMessage(asked, { role: 'assistant', content: told });
      }
      lines.prompt();
    }
  } finally {
    lines.close();
    terminal.say('');
  }
}

/** A message that fails does not end the conversation. @returns undefined if there is no answer. */
async function answerOrTell(
  session: Session,
  request: ChatRequest,
  stop: AbortSignal,
  showsReasoning: boolean,
): Promise<string | undefined> {
  try {
    return await answer(session, request, AbortSignal.any([stop, session.signal]), showsReasoning);
  } catch (error) {
    if (session.signal.aborted) throw error;
    session.terminal.say(stop.aborted ? '(stopped)' : (error as Error).message);
    return undefined;
  }
}
