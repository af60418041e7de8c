/** The keys of an account: active ones first, the others collapsed. */
import { Button, Collapse, Stack, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconKey } from '@tabler/icons-react';
import type { Key } from '../../api/keys.ts';
import { useNow } from '../../components/now.ts';
import { EmptyState } from '../../components/states.tsx';
import { texts } from '../../texts/keys.ts';
import { KeyCard } from './key-card.tsx';
import type { OpenKeyDialog } from './key-dialogs.tsx';
import { isActive, stateOf } from './key-state.ts';

export function KeyList(props: {
  readonly keys: readonly Key[];
  /** The id of the session's key; undefined: an operator. */
  readonly ownKeyId?: string;
  readonly onOpen: (dialog: OpenKeyDialog) => void;
}) {
  const { keys, ownKeyId, onOpen } = props;
  const [isOpen, { toggle }] = useDisclosure(false);
  const newestFirst = keys.toReversed();
  const now = useNow();
  const active = newestFirst.filter((key) => isActive(stateOf(key, now)));
  const inactive = newestFirst.filter((key) => !isActive(stateOf(key, now)));
  const card = (key: Key) => (
    <KeyCard
      key={key.id}
      apiKey={key}
      isOwn={key.id === ownKeyId}
      onRotate={() => onOpen({ kind: 'rotate', target: key })}
      onRevoke={() => onOpen({ kind: 'revoke', target: key })}
    />
  );
  return (
    <Stack>
      {active.length === 0 ? (
        <EmptyState icon={<IconKey size={32} aria-hidden />} title={texts.none}>
          {texts.noneHint}
        </EmptyState>
      ) : (
        <Stack component="ul" aria-label={texts.keyList} gap="sm" m={0} p={0}>
          {active.map(card)}
        </Stack>
      )}
      {inactive.length === 0 ? null : (
        <>
          <Button
            variant="default"
            size="xs"
            onClick={toggle}
            aria-expanded={isOpen}
            aria-controls="inactive-keys"
            mr="auto"
          >
            {isOpen ? texts.hideInactive : texts.showInactive(inactive.length)}
          </Button>
          <Collapse id="inactive-keys" expanded={isOpen}>
            <Title order={2} size="h4" mb="sm">
              {texts.inactiveList}
            </Title>
            <Stack component="ul" aria-label={texts.inactiveList} gap="sm" m={0} p={0}>
              {inactive.map(card)}
            </Stack>
          </Collapse>
        </>
      )}
    </Stack>
  );
}
