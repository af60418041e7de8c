/** Prompts for the operator's token, and tests it before anything else is shown. */
import { Alert, Center, Code, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { FormEvent } from 'react';
import { createOperatorApi, readServiceFacts } from '../../api/admin.ts';
import type { Operator } from '../../api/admin.ts';
import { ApiError } from '../../api/api.ts';
import { texts } from '../../texts/admin.ts';

const { signIn: words } = texts;

export function OperatorSignIn(props: {
  /** Why it is requested again. */
  readonly note: string | undefined;
  readonly onSignedIn: (operator: Pick<Operator, 'api' | 'service'>) => void;
  /** A token that was valid no longer is. */
  readonly onRefused: () => void;
}) {
  const { note, onSignedIn, onRefused } = props;
  const [token, setToken] = useState('');
  useEffect(() => {
    document.title = `${words.title} · ${texts.product}`;
  }, []);
  const attempt = useMutation({
    async mutationFn(tried: string) {
      let isGood = false;
      const api = createOperatorApi(tried, () => {
        if (isGood) onRefused();
      });
      const service = await readServiceFacts(api);
      isGood = true;
      return { api, service };
    },
    onSuccess: onSignedIn,
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    attempt.mutate(token.trim());
  };
  return (
    <Center mih="100dvh" p="md" component="main">
      <Paper withBorder p="xl" w="100%" maw="28rem">
        <form onSubmit={submit}>
          <Stack>
            <Title order={1} size="h2">
              {words.title}
            </Title>
            {note === undefined ? null : (
              <Alert role="status" color="yellow">
                {note}
              </Alert>
            )}
            <PasswordInput
              label={words.token}
              description={words.hint}
              value={token}
              onChange={({ currentTarget }) => setToken(currentTarget.value)}
              error={attempt.error === null ? undefined : problemOf(attempt.error)}
              autoComplete="off"
              spellCheck={false}
              autoFocus
              required
            />
            <BusyButton type="submit" isBusy={attempt.isPending} disabled={token.trim() === ''}>
              {words.submit}
            </BusyButton>
            <Text size="sm" c="dimmed">
              {words.commandHint} <Code>{words.command}</Code>
            </Text>
          </Stack>
        </form>
      </Paper>
    </Center>
  );
}

/** A token with invalid characters is rejected before it is sent. */
function problemOf(error: Error): string {
  const isWrong = error instanceof TypeError || (error instanceof ApiError && error.status === 401);
  return isWrong ? words.wrong : error.message;
}
