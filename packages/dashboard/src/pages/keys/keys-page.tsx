/** The account's own keys: listed, created, rotated and revoked. */
import { Button } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { useKeyActions, useKeys, useModelNames } from '../../api/keys.ts';
import { NeedsScope } from '../../components/needs-scope.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { ErrorState, LoadingState } from '../../components/states.tsx';
import { useMay, useSession } from '../../session/session.tsx';
import { texts } from '../../texts/keys.ts';
import { CREATE_KEY_BUTTON, KeyDialogs } from './key-dialogs.tsx';
import type { OpenKeyDialog } from './key-dialogs.tsx';
import { KeyList } from './key-list.tsx';
import { grantableBy } from './new-key-form.ts';

export default function KeysPage() {
  const session = useSession();
  const mayManage = useMay('keys:manage');
  const mayListModels = useMay('models:read');
  const [open, setOpen] = useState<OpenKeyDialog>();
  const { data: keys, error, refetch } = useKeys(mayManage);
  const grantable = grantableBy(
    session,
    keys?.find(({ id }) => id === session.keyId),
  );
  const { data: modelNames } = useModelNames(
    open?.kind === 'create' && mayListModels && grantable.models === undefined,
  );
  const create = (
    <Button
      leftSection={<IconPlus size={16} aria-hidden />}
      onClick={() => setOpen({ kind: 'create' })}
      id={CREATE_KEY_BUTTON}
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
        <NeedsScope scope="keys:manage" action={texts.manageKeys} />
      ) : keys !== undefined ? (
        <KeyList keys={keys} ownKeyId={session.keyId} onOpen={setOpen} />
      ) : error !== null ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : (
        <LoadingState />
      )}
      <KeyDialogs
        open={open}
        onOpen={setOpen}
        actions={useKeyActions()}
        grantable={grantable}
        modelNames={modelNames}
        ownKeyId={session.keyId}
        baseUrl={session.baseUrl}
      />
    </>
  );
}
