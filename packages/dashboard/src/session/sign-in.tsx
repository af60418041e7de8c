/**
 * Sign-in: with a link, which is redeemed as soon as the page opens, or with a key.
 */
import { Center, Code, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { BusyButton } from '../components/busy-button.tsx';
import { Note } from '../components/note.tsx';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { FormEvent } from 'react';
import { useLocation } from 'wouter';
import { ApiError, api } from '../api/api.ts';
import { LoadingState } from '../components/states.tsx';
import { texts } from '../texts/sign-in.ts';
import { replaceSession, useHasEnded } from './session.tsx';
import type { Session } from './session.tsx';

/** Where a link's secret is: after `#`, which browsers do not send. It is removed from the address at once. */
function takeLinkSecret(): string | undefined {
  const secret = window.location.pathname === '/sign-in' ? window.location.hash.slice(1) : '';
  if (secret === '') return undefined;
  window.history.replaceState(null, '', window.location.pathname);
  return secret;
}

/** Once per page load, however often React renders: a link is valid once. */
const linkSecret = takeLinkSecret();
let isRedeemed = false;

export function SignInPage() {
  const client = useQueryClient();
  const [location, navigate] = useLocation();
  const [key, setKey] = useState('');
  const signIn = useMutation({
    mutationFn: (body: { key: string } | { link: string }) => api.call<Session>('POST', '/session', { body }),
    onSuccess: (session) => {
      replaceSession(client, session);
      if (location === '/sign-in') navigate('/', { replace: true });
    },
  });
  const { mutate } = signIn;
  const hasEnded = useHasEnded();
  useEffect(() => {
    document.title = texts.title;
  }, []);
  useEffect(() => {
    if (linkSecret === undefined || isRedeemed) return;
    isRedeemed = true;
    mutate({ link: linkSecret });
  }, [mutate]);

  if (signIn.isPending && signIn.variables !== undefined && 'link' in signIn.variables) return <LoadingState />;

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    signIn.mutate({ key: key.trim() });
  };
  return (
    <Center mih="100dvh" p="md" component="main">
      <Paper withBorder p="xl" w="100%" maw="28rem">
        <form onSubmit={submit}>
          <Stack>
            <Title order={1} size="h2">
              {texts.title}
            </Title>
            {hasEnded ? <Note role="status">{texts.ended}</Note> : null}
            <PasswordInput
              label={texts.key}
              description={texts.keyHint}
              value={key}
              onChange={({ currentTarget }) => setKey(currentTarget.value)}
              error={signIn.error === null ? undefined : problemOf(signIn.error)}
              autoComplete="off"
              spellCheck={false}
              autoFocus
              required
            />
            <BusyButton type="submit" isBusy={signIn.isPending} disabled={key.trim() === ''}>
              {texts.signIn}
            </BusyButton>
            <Text size="sm" c="dimmed">
              {texts.linkHint} <Code>{texts.linkCommand}</Code>
            </Text>
          </Stack>
        </form>
      </Paper>
    </Center>
  );
}

function problemOf(error: Error): string {
  if (!(error instanceof ApiError) || error.status !== 401) return error.message;
  return error.message.includes('link') ? error.message : texts.keyNeedsScope;
}
