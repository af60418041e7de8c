/** One turn of a conversation. */
import { Box, Button, Code, Group, Paper, Stack, Text, Textarea } from '@mantine/core';
import { IconPlugConnectedX, IconRefresh } from '@tabler/icons-react';
import { useState } from 'react';
import type { FormEvent } from 'react';
import type { Model } from '../../../api/models.ts';
import { InterruptedAnswerError } from '../../../api/text.ts';
import type { ChatAnswer, ToolCall } from '../../../api/text.ts';
import { Note } from '../../../components/note.tsx';
import { formatUsd } from '../../../components/money.ts';
import { ErrorState } from '../../../components/states.tsx';
import { texts } from '../../../texts/chat.ts';
import { isTextPricing } from '../../models/price-words.ts';
import classes from '../playground.module.css';
import type { ToolResult, Turn } from './conversation.ts';
import { textCost } from './text-cost.ts';

interface TurnViewProps {
  readonly turn: Turn;
  readonly pricing: Model['pricing'];
  readonly isLast: boolean;
  readonly onRetry: () => void;
  readonly onAnswer: (results: readonly ToolResult[]) => void;
}

export function TurnView({ turn, pricing, isLast, onRetry, onAnswer }: TurnViewProps) {
  if (turn.who === 'user') {
    return (
      <Paper withBorder p="sm" ml={{ base: 'lg', sm: '20%' }} bg="var(--mantine-color-default-hover)">
        <Text size="xs" fw={600} mb={2}>
          {texts.you}
        </Text>
        <Text className={classes['message']}>{turn.text}</Text>
      </Paper>
    );
  }
  if (turn.who === 'functions') {
    return (
      <Stack gap="xs" ml={{ base: 'lg', sm: '20%' }}>
        {turn.results.map(({ callId, name, text }) => (
          <Paper key={callId} withBorder p="sm">
            <Text size="xs" fw={600} mb={2}>
              {texts.returned(name)}
            </Text>
            <Code block tabIndex={0}>
              {text}
            </Code>
          </Paper>
        ))}
      </Stack>
    );
  }
  const { answer, state, error } = turn;
  return (
    <Stack gap="xs">
      <Reasoning text={answer.reasoning} isOpen={state === 'writing' && answer.text === ''} />
      {answer.text === '' && state === 'writing' ? (
        <Text>{answer.reasoning === '' ? '…' : `${texts.reasoningNow} …`}</Text>
      ) : null}
      {answer.text === '' ? null : <Text className={classes['message']}>{answer.text}</Text>}
      {answer.toolCalls.map((call, index) => (
        <Call key={call.id || index} call={call} />
      ))}
      {isLast && state === 'complete' && answer.toolCalls.length > 0 ? (
        <CallResults calls={answer.toolCalls} onAnswer={onAnswer} />
      ) : null}
      {state === 'failed' && error !== undefined ? (
        <Failure error={error} onRetry={isLast ? onRetry : undefined} />
      ) : null}
      <Ending answer={answer} state={state} pricing={pricing} />
    </Stack>
  );
}

/** An interrupted answer is reported as such: a part of it is shown above. */
function Failure({ error, onRetry }: { readonly error: Error; readonly onRetry: (() => void) | undefined }) {
  if (!(error instanceof InterruptedAnswerError)) {
    return <ErrorState error={error} {...(onRetry === undefined ? {} : { onRetry })} />;
  }
  return (
    <Note role="alert" color="orange" icon={<IconPlugConnectedX aria-hidden />} title={texts.interrupted}>
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{error.message === '' ? texts.connectionLost : error.message}</Text>
        {onRetry === undefined ? null : (
          <Button size="xs" variant="default" leftSection={<IconRefresh size={14} aria-hidden />} onClick={onRetry}>
            {texts.retry}
          </Button>
        )}
      </Stack>
    </Note>
  );
}

/** Collapsed, unless there is nothing else to see yet. */
function Reasoning({ text, isOpen }: { readonly text: string; readonly isOpen: boolean }) {
  if (text === '') return null;
  return (
    <Box component="details" open={isOpen}>
      <Text component="summary" size="sm" fw={600}>
        {texts.reasoning}
      </Text>
      <Text
        size="sm"
        className={classes['message']}
        pl="md"
        mt={4}
        mah="16rem"
        style={{ overflowY: 'auto' }}
        tabIndex={0}
      >
        {text}
      </Text>
    </Box>
  );
}

function Call({ call }: { readonly call: ToolCall }) {
  return (
    <Paper withBorder p="sm">
      <Text size="sm" fw={600} mb={4}>
        {texts.calls(call.name)}
      </Text>
      <Code block tabIndex={0} role="region" aria-label={texts.callArguments(call.name)}>
        {readable(call.arguments)}
      </Code>
    </Paper>
  );
}

/** Formatted JSON, if it is complete. */
function readable(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

function CallResults({
  calls,
  onAnswer,
}: {
  readonly calls: readonly ToolCall[];
  readonly onAnswer: (results: readonly ToolResult[]) => void;
}) {
  const [results, setResults] = useState<Readonly<Record<string, string>>>({});
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onAnswer(calls.map(({ id, name }) => ({ callId: id, name, text: results[id] ?? '' })));
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="xs">
        {calls.map(({ id, name }) => (
          <Textarea
            key={id}
            label={texts.callResult(name)}
            description={texts.callResultHint}
            autosize
            minRows={2}
            maxRows={8}
            value={results[id] ?? ''}
            onChange={({ currentTarget: { value } }) => setResults((before) => ({ ...before, [id]: value }))}
          />
        ))}
        <Group>
          <Button type="submit" size="xs" disabled={calls.some(({ id }) => (results[id] ?? '').trim() === '')}>
            {texts.submitResults}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Ending({
  answer,
  state,
  pricing,
}: {
  readonly answer: ChatAnswer;
  readonly state: string;
  readonly pricing: Model['pricing'];
}) {
  const { usage, finishReason } = answer;
  return (
    <>
      {state === 'stopped' ? <Note color="gray" p="xs" title={texts.stopped} /> : null}
      {finishReason === 'length' ? <Note color="orange" p="xs" title={texts.cutOff} /> : null}
      {finishReason === 'content_filter' ? <Note color="orange" p="xs" title={texts.filtered} /> : null}
      {usage === undefined ? null : (
        <Text size="xs">
          {[
            texts.usage(usage.inputTokens, usage.outputTokens),
            ...(usage.cachedTokens === 0 ? [] : [texts.cachedTokens(usage.cachedTokens)]),
            ...(usage.reasoningTokens === 0 ? [] : [texts.reasoningTokens(usage.reasoningTokens)]),
            ...(isTextPricing(pricing) ? [texts.cost(formatUsd(textCost(pricing, [usage])))] : []),
          ].join(' · ')}
        </Text>
      )}
    </>
  );
}
