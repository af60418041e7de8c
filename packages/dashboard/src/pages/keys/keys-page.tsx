/**
 * The account's keys: working ones first, the others collapsed.
 */
import { Button, Collapse, Stack, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconKey, IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { useKeys } from '../../api/keys.ts';
import type { Key, MadeKey } from '../../api/keys.ts';
import { useNow } from '../../components/now.ts';
import { NeedsScope } from '../../components/needs-scope.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx';
import { useMay, useSession } from '../../session/session.tsx';
import { texts } from '../../texts/keys.ts';
import { CreateKeyDialog } from './create-key-dialog.tsx';
import { KeyCard } from './key-card.tsx';
import { stateOf, works } from './key-state.ts';
import { NewKeyDialog } from './new-key-dialog.tsx';
import { RevokeDialog } from './revoke-dialog.tsx';
import { RotateDialog } from './rotate-dialog.tsx';

/** The action in progress: at most one. */
type Doing =
  | { readonly what: 'create' }
  | { readonly what: 'rotate' | 'revoke'; readonly key: Key }
  | { readonly what: 'show'; readonly made: MadeKey };

const CREATE_ID = 'create-key';

/** Where the focus returns: to the menu of the key of the action, if it still has one. */
function whereItBegan(doing: Doing | undefined): HTMLElement | null {
  const id = doing !== undefined && 'key' in doing ? doing.key.id : undefined;
  const menu = id === undefined ? null : document.querySelector<HTMLElement>(`[data-key-id="${id}"] [aria-haspopup]`);
  return menu ?? document.querySelector<HTMLElement>(`#${CREATE_ID}`);
}

export default function KeysPage() {
  const mayManage = useMay('keys:manage');
  const [doing, setDoing] = useState<Doing>();
  const { data: keys, error, refetch } = useKeys(mayManage);
  const stop = (): void => {
    setDoing(undefined);
    // After the dialog, which had the focus, is gone.
    requestAnimationFrame(() => whereItBegan(doing)?.focus());
  };
  const show = (made: MadeKey): void => setDoing({ what: 'show', made });
  const create = (
    <Button
      leftSection={<IconPlus size={16} aria-hidden />}
      onClick={() => setDoing({ what: 'create' })}
      id={CREATE_ID}
    >
      {texts.create}
    </Button>
  );
  return (
    <>
      <PageHeader title={texts.title} actions={mayManage ? create : undefined}>
        {texts.about}
      </PageHeader>
      {!mayManage ? (
        <NeedsScope scope="keys:manage" what={texts.seeKeys} />
      ) : keys !== undefined ? (
        <KeyList
          keys={keys}
          onRotate={(key) => setDoing({ what: 'rotate', key })}
          onRevoke={(key) => setDoing({ what: 'revoke', key })}
        />
      ) : error !== null ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : (
        <LoadingState />
      )}
      {doing?.what === 'create' ? <CreateKeyDialog keys={keys ?? []} onMade={show} onClose={stop} /> : null}
      {doing?.what === 'rotate' ? <RotateDialog target={doing.key} onMade={show} onClose={stop} /> : null}
      {doing?.what === 'revoke' ? <RevokeDialog target={doing.key} onClose={stop} /> : null}
      {doing?.what === 'show' ? <NewKeyDialog made={doing.made} onClose={stop} /> : null}
    </>
  );
}

function KeyList(props: {
  readonly keys: readonly Key[];
  readonly onRotate: (key: Key) => void;
  readonly onRevoke: (key: Key) => void;
}) {
  const { keyId } = useSession();
  const [isOpen, { toggle }] = useDisclosure(false);
  const newestFirst = props.keys.toReversed();
  const now = useNow();
  const working = newestFirst.filter((key) => works(stateOf(key, now)));
  const ended = newestFirst.filter((key) => !works(stateOf(key, now)));
  const card = (key: Key) => (
    <KeyCard
      key={key.id}
      apiKey={key}
      isOwn={key.id === keyId}
      onRotate={() => props.onRotate(key)}
      onRevoke={() => props.onRevoke(key)}
    />
  );
  return (
    <Stack>
      {working.length === 0 ? (
        <EmptyState icon={<IconKey size={32} aria-hidden />} title={texts.none}>
          {texts.noneHint}
        </EmptyState>
      ) : (
        <Stack component="ul" aria-label={texts.keyList} gap="sm" m={0} p={0}>
          {working.map(card)}
        </Stack>
      )}
      {ended.length === 0 ? null : (
        <>
          <Button
            variant="default"
            size="xs"
            onClick={toggle}
            aria-expanded={isOpen}
            aria-controls="ended-keys"
            mr="auto"
          >
            {isOpen ? texts.hideEnded : texts.showEnded(ended.length)}
          </Button>
          <Collapse id="ended-keys" expanded={isOpen}>
            <Title order={2} size="h4" mb="sm">
              {texts.endedList}
            </Title>
            <Stack component="ul" aria-label={texts.endedList} gap="sm" m={0} p={0}>
              {ended.map(card)}
            </Stack>
          </Collapse>
        </>
      )}
    </Stack>
  );
}
