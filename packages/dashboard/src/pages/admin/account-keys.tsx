/** The keys of an account: created with any rights, replaced, revoked. They are shown as to their owner. */
import { Box, Button, Stack, Text } from '@mantine/core';
import { IconKey, IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { useAccountKeys } from '../../api/admin.ts';
import type { MadeKey } from '../../api/admin.ts';
import type { Key } from '../../api/keys.ts';
import { useNow } from '../../components/now.ts';
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx';
import { texts } from '../../texts/admin.ts';
import { KeyCard } from '../keys/key-card.tsx';
import { stateOf, works } from '../keys/key-state.ts';
import { Section } from '../tasks/section.tsx';
import { CreateKeyDialog } from './create-key-dialog.tsx';
import { EndKeyDialog } from './end-key-dialog.tsx';
import { ShownKeyDialog } from './shown-key-dialog.tsx';

const { keys: words } = texts;

type Open =
  | { readonly kind: 'create' }
  | { readonly kind: 'rotate' | 'revoke'; readonly target: Key }
  | { readonly kind: 'made'; readonly made: MadeKey };

export function AccountKeys({ accountId }: { readonly accountId: string }) {
  const nowMs = useNow();
  const { data: keys, error, refetch } = useAccountKeys(accountId);
  const [open, setOpen] = useState<Open>();
  const [showsEnded, setShowsEnded] = useState(false);
  if (keys === undefined) {
    return error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />;
  }
  const close = (): void => setOpen(undefined);
  const onMade = (made: MadeKey): void => setOpen({ kind: 'made', made });
  const isWorking = (key: Key): boolean => works(stateOf(key, nowMs));
  const working = keys.filter(isWorking);
  const ended = keys.filter((key) => !isWorking(key));
  const create = (
    <Button size="xs" leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setOpen({ kind: 'create' })}>
      {words.create}
    </Button>
  );
  const list = (listed: readonly Key[], label: string) => (
    <Stack component="ul" gap="sm" p={0} m={0} aria-label={label}>
      {listed.map((key) => (
        <KeyCard
          key={key.id}
          apiKey={key}
          isOwn={false}
          onRotate={() => setOpen({ kind: 'rotate', target: key })}
          onRevoke={() => setOpen({ kind: 'revoke', target: key })}
        />
      ))}
    </Stack>
  );
  return (
    <>
      <Section title={words.title} actions={create}>
        <Stack gap="sm">
          <Text size="sm" c="dimmed">
            {words.about}
          </Text>
          {error === null ? null : <ErrorState error={error} onRetry={() => void refetch()} />}
          {working.length === 0 ? (
            <EmptyState icon={<IconKey size={32} aria-hidden />} title={words.none}>
              {words.noneHint}
            </EmptyState>
          ) : (
            list(working, words.list)
          )}
          {ended.length === 0 ? null : (
            <Box>
              <Button
                variant="subtle"
                size="xs"
                aria-expanded={showsEnded}
                onClick={() => setShowsEnded((before) => !before)}
              >
                {showsEnded ? words.hideEnded : words.showEnded(ended.length)}
              </Button>
              {showsEnded ? list(ended, words.endedList) : null}
            </Box>
          )}
        </Stack>
      </Section>
      {open?.kind === 'create' ? <CreateKeyDialog accountId={accountId} onMade={onMade} onClose={close} /> : null}
      {open?.kind === 'rotate' || open?.kind === 'revoke' ? (
        <EndKeyDialog kind={open.kind} target={open.target} onMade={onMade} onClose={close} />
      ) : null}
      {open?.kind === 'made' ? <ShownKeyDialog made={open.made} onClose={close} /> : null}
    </>
  );
}
