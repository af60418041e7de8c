/** The keys of an account as an operator manages them: created with any scopes, rotated, revoked. */
import { Button, Stack, Text } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { useAccountKeyActions, useAccountKeys, useCatalogue, useOperator } from '../../api/admin.ts';
import { ErrorState, LoadingState } from '../../components/states.tsx';
import { texts } from '../../texts/admin.ts';
import { texts as keyTexts } from '../../texts/keys.ts';
import { CREATE_KEY_BUTTON, KeyDialogs } from '../keys/key-dialogs.tsx';
import type { OpenKeyDialog } from '../keys/key-dialogs.tsx';
import { KeyList } from '../keys/key-list.tsx';
import { GRANTABLE_BY_OPERATOR } from '../keys/new-key-form.ts';
import { Section } from '../tasks/section.tsx';

const { keys: words } = texts;

export function AccountKeys({ accountId }: { readonly accountId: string }) {
  const { data: keys, error, refetch } = useAccountKeys(accountId);
  const [open, setOpen] = useState<OpenKeyDialog>();
  const actions = useAccountKeyActions(accountId);
  const { baseUrl } = useOperator().service;
  const { data: catalogue } = useCatalogue(open?.kind === 'create');
  if (keys === undefined) {
    return error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />;
  }
  const create = (
    <Button
      size="xs"
      leftSection={<IconPlus size={16} aria-hidden />}
      onClick={() => setOpen({ kind: 'create' })}
      id={CREATE_KEY_BUTTON}
    >
      {keyTexts.create}
    </Button>
  );
  return (
    <>
      <Section title={words.title} actions={create}>
        <Stack gap="sm">
          <Text size="sm" c="dimmed">
            {words.about}
          </Text>
          {error === null ? null : <ErrorState error={error} onRetry={() => void refetch()} />}
          <KeyList keys={keys} onOpen={setOpen} />
        </Stack>
      </Section>
      <KeyDialogs
        open={open}
        onOpen={setOpen}
        actions={actions}
        grantable={GRANTABLE_BY_OPERATOR}
        modelNames={catalogue?.models.map(({ name }) => name)}
        baseUrl={baseUrl}
      />
    </>
  );
}
