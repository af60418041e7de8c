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
    .description('send a message to a text model; without one, read stdin, or start a conversation on a terminal')
    .argument('<model>', 'a name as listed by "models --modality text"')
    .argument('[message]', 'the message')
    .option('--system <text>', 'the system message')
    .option('--reasoning', 'enable reasoning, and show it')
    .option('--no-reasoning', 'disable reasoning')
    .option('--max-tokens <number>', 'maximum of reasoning and answer together', count)
    .option('--temperature <number>', 'sampling temperature', decimal)
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
      else await answerOnce(session, request, message, reasoning === true);
    });
}

function decimal(value: string): number {
  if (!/^\d+(\.\d+)?$/.test(value)) throw new InvalidArgumentError('Write a number.');
  return Number(value);
}

async function answerOnce(
  session: Session,
  request: ChatRequest,
  message: string | undefined,
  showsReasoning: boolean,
): Promise<void> {
  const { api, terminal, cli, signal, isJson } = session;
  const content = message ?? (await readStdin(cli)).trim();
  if (content === '') throw new UsageError('there is no message: pass one, or write it to stdin');
  const body = withMessage(request, { role: 'user', content });
  if (isJson) {
    terminal.printJson(await api.call('POST', '/chat/completions', { body, signal }));
    return;
  }
  await answer(session, body, signal, showsReasoning);
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
  let text = '';
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
        text += part.text;
        terminal.write(part.text);
      } else if (showsReasoning) {
        isThinking = true;
        terminal.sayDim(part.text);
      }
    }
  } finally {
    endThought();
    if (text !== '' && !text.endsWith('\n')) terminal.write('\n');
  }
  if (refusal !== '') throw new NotDoneError(`the model refused to answer: ${refusal}`);
  if (finish === 'length') terminal.say('(the answer was cut off at the token limit)');
  if (finish === 'content_filter') terminal.say('(the answer was cut off by a content filter)');
  return text;
}

/** Ctrl-C stops the answer, and at the prompt ends the conversation; so does Ctrl-D. */
async function converse(session: Session, begun: ChatRequest, showsReasoning: boolean): Promise<void> {
  const { terminal, cli } = session;
  terminal.say(`${begun.model}: Ctrl-C stops an answer, Ctrl-D ends the conversation`);
  const lines = createInterface({ input: cli.stdin, output: cli.stderr, terminal: true, prompt: '> ' });
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
        const body = withMessage(request, { role: 'user', content: line });
        const text = await answerOrReport(session, body, stop.signal, showsReasoning);
        stop = undefined;
        // A message without an answer is not added to the conversation.
        if (text !== undefined) request = withMessage(body, { role: 'assistant', content: text });
      }
      lines.prompt();
    }
  } finally {
    lines.close();
    terminal.say('');
  }
}

/** A message that fails does not end the conversation. @returns undefined if there is no answer. */
async function answerOrReport(
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
