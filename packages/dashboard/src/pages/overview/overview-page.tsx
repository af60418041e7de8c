/** The overview: a new account is guided to its first image, any other sees its current activity. */
import { Button } from '@mantine/core';
import { IconLock, IconSparkles } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { useNewestTasks } from '../../api/tasks-run.ts';
import { useAccount } from '../../api/account.ts';
import { Note } from '../../components/note.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx';
import { useMay, useSession } from '../../session/session.tsx';
import { texts } from '../../texts/overview.ts';
import { Activity } from './activity.tsx';
import { FailingEndpoints } from './failing-endpoints.tsx';
import { FirstImage } from './first-image.tsx';

/** More than are shown: some have no output. */
const NEWEST = 24;

export default function OverviewPage() {
  const { accountName } = useSession();
  const mayRead = useMay('tasks:read');
  const mayCreate = useMay('tasks:write');
  const mayBill = useMay('billing:read');
  const { data: account } = useAccount(mayBill);
  const { data: list, error, refetch } = useNewestTasks(NEWEST, mayRead);
  // The view stays after the first image was created here.
  const [isFirst, setFirst] = useState(false);
  const isNew = isFirst || (list?.total === 0 && mayCreate);
  return (
    <>
      <PageHeader
        title={texts.title(accountName)}
        actions={
          <Button
            component={Link}
            href="/playground"
            variant={isNew ? 'default' : 'filled'}
            leftSection={<IconSparkles size={16} aria-hidden />}
          >
            {texts.toPlayground}
          </Button>
        }
      >
        {isFirst ? texts.aboutFirst : isNew ? texts.aboutNew : texts.about}
      </PageHeader>
      {account?.status === 'suspended' ? (
        <Note color="red" title={texts.suspended} mb="md">
          {texts.suspendedHint}
        </Note>
      ) : null}
      <FailingEndpoints endpoints={account?.callbackProblems ?? []} />
      {!mayRead ? (
        <EmptyState icon={<IconLock size={32} aria-hidden />} title={texts.noTasksTitle}>
          {texts.noTasksHint}
        </EmptyState>
      ) : isNew ? (
        <FirstImage available={account?.available} onStart={() => setFirst(true)} />
      ) : list !== undefined ? (
        <Activity tasks={list.tasks} total={list.total} account={account} />
      ) : error !== null ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : (
        <LoadingState />
      )}
    </>
  );
}
