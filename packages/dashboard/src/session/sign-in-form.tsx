/**
 * The sign-in page: one secret, and how to get it. Accounts sign in with a key (sign-in.tsx), operators with the
 * installation's token (../pages/admin/operator-sign-in.tsx).
 */
import { Center, Code, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useEffect, useState } from 'react';
import type { FormEvent } from 'react';
import { BusyButton } from '../components/busy-button.tsx';
import { Note } from '../components/note.tsx';
import { texts } from '../texts/sign-in.ts';

export function SignInForm(props: {
  readonly title: string;
  /** The title of the document. */
  readonly documentTitle: string;
  /** Why one has to sign in again; undefined: it is the first time. */
  readonly note: string | undefined;
  readonly label: string;
  readonly hint: string;
  readonly error: string | undefined;
  readonly isBusy: boolean;
  /** Without surrounding white space. */
  readonly onSubmit: (secret: string) => void;
  /** A command that helps where there is no secret at hand, and what it does. */
  readonly help: { readonly hint: string; readonly command: string };
}) {
  const { title, documentTitle, note, help } = props;
  const [secret, setSecret] = useState('');
  useEffect(() => {
    document.title = documentTitle;
  }, [documentTitle]);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    props.onSubmit(secret.trim());
  };
  return (
    <Center mih="100dvh" p="md" component="main">
      <Paper withBorder p="xl" w="100%" maw="28rem">
        <form onSubmit={submit}>
          <Stack>
            <Title order={1} size="h2">
              {title}
            </Title>
            {note === undefined ? null : <Note role="status">{note}</Note>}
            <PasswordInput
              label={props.label}
              description={props.hint}
              value={secret}
              onChange={({ currentTarget }) => setSecret(currentTarget.value)}
              error={props.error}
              autoComplete="off"
              spellCheck={false}
              autoFocus
              required
            />
            <BusyButton type="submit" isBusy={props.isBusy} disabled={secret.trim() === ''}>
              {texts.signIn}
            </BusyButton>
            <Text size="sm" c="dimmed">
              {help.hint} <Code>{help.command}</Code>
            </Text>
          </Stack>
        </form>
      </Paper>
    </Center>
  );
}
