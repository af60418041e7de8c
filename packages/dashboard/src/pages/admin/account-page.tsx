/** One account: its money, its usage of its limits, and what an operator can do with it. */
import { Alert, Anchor, Button, Code, Flex, Group, Paper, Tabs, Text } from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { IconAlertTriangle, IconArrowLeft } from '@tabler/icons-react';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { useAccount, useResume } from '../../api/admin.ts';
import type { Account } from '../../api/admin.ts';
import { CopyIcon } from '../../components/copy.tsx';
import { FIGURE } from '../../components/figures.tsx';
import { formatUsd } from '../../components/money.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { formatBytes } from '../../components/quantities.ts';
import { ErrorState, LoadingState } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { notify, notifyError } from '../../components/notify.ts';
import { texts } from '../../texts/admin.ts';
import { AccountBadge } from './accounts-page.tsx';
import { AccountKeys } from './account-keys.tsx';
import { AccountLedger } from './account-ledger.tsx';
import { AccountLimits } from './account-limits.tsx';
import { AccountUsage } from './account-usage.tsx';
import { AdjustDialog } from './adjust-dialog.tsx';
import { SuspendDialog } from './suspend-dialog.tsx';
import { TopUpDialog } from './top-up-dialog.tsx';

const { account: words } = texts;
const PARTS = ['keys', 'limits', 'ledger', 'usage'] as const;
type Part = (typeof PARTS)[number];

export default function AccountPage(props: { readonly accountId: string; readonly part: string | undefined }) {
  const { accountId } = props;
  const part = PARTS.find((each) => each === props.part) ?? 'keys';
  const [, navigate] = useLocation();
  const { data: account, error, refetch } = useAccount(accountId);
  const back = (
    <Anchor component={Link} href="/accounts" size="sm">
      <Group gap={4} component="span" display="inline-flex">
        <IconArrowLeft size={14} aria-hidden />
        {words.back}
      </Group>
    </Anchor>
  );
  if (account === undefined) {
    return (
      <>
        {back}
        {error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </>
    );
  }
  return (
    <>
      {back}
      <PageHeader title={account.name} actions={<Actions account={account} />}>
        <Group gap={6}>
          <AccountBadge account={account} />
          <Code>{accountId}</Code>
          <CopyIcon value={accountId} what={words.copyId} />
          <Text size="sm">
            {words.created} <Time seconds={account.created} />
          </Text>
          {account.walletId === accountId ? null : (
            <Text size="sm">
              {words.sharesWallet}{' '}
              <Anchor component={Link} href={`/accounts/${account.walletId}`}>
                {account.walletId}
              </Anchor>
            </Text>
          )}
        </Group>
      </PageHeader>
      {account.status === 'suspended' ? (
        <Alert color="red" icon={<IconAlertTriangle />} title={words.suspendedTitle} mb="md">
          {account.suspensionReason === undefined ? null : (
            <Text size="sm" mb={4} style={{ overflowWrap: 'anywhere' }}>
              {words.suspendedBecause} <q>{account.suspensionReason}</q>
            </Text>
          )}
          {words.suspendedHint}
        </Alert>
      ) : null}
      {Number(account.available) > 0 ? null : (
        <Alert color="yellow" icon={<IconAlertTriangle />} title={words.emptyTitle} mb="md">
          {words.emptyHint}
        </Alert>
      )}
      <Numbers account={account} />
      <Tabs
        value={part}
        onChange={(chosen) => navigate(`/accounts/${accountId}/${chosen ?? 'keys'}`, { replace: true })}
        keepMounted={false}
        mt="lg"
      >
        <Tabs.List aria-label={words.tabsLabel} mb="md">
          {PARTS.map((each) => (
            <Tabs.Tab key={each} value={each}>
              {words.tabs[each]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {PARTS.map((each) => (
          <Tabs.Panel key={each} value={each}>
            {panelOf(each, account)}
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  );
}

function panelOf(part: Part, account: Account): ReactNode {
  if (part === 'keys') return <AccountKeys accountId={account.accountId} />;
  if (part === 'limits') return <AccountLimits account={account} />;
  if (part === 'ledger') return <AccountLedger accountId={account.accountId} />;
  return <AccountUsage accountId={account.accountId} />;
}

function Numbers({ account }: { readonly account: Account }) {
  const { available, held, balance, usage, limits } = account;
  const of = (used: number, limit: number) => words.ofLimit(used.toLocaleString('en'), limit.toLocaleString('en'));
  const facts: readonly (readonly [name: string, value: string])[] = [
    [words.available, formatUsd(available)],
    [words.held, formatUsd(held)],
    [words.balance, formatUsd(balance)],
    [words.running, of(usage.runningTasks, limits.runningTasks)],
    [words.queued, of(usage.queuedTasks, limits.queuedTasks)],
    [words.storage, words.ofLimit(formatBytes(usage.persistentBytes), formatBytes(limits.persistentBytes))],
  ];
  return (
    <Flex wrap="wrap" gap="sm" component="dl" m={0}>
      {facts.map(([name, value]) => (
        <Paper key={name} withBorder p="sm" {...FIGURE}>
          <Text component="dt" size="sm" c="dimmed">
            {name}
          </Text>
          <Text component="dd" m={0} fw={600} size="lg" style={{ whiteSpace: 'nowrap' }}>
            {value}
          </Text>
        </Paper>
      ))}
    </Flex>
  );
}

function Actions({ account }: { readonly account: Account }) {
  const [open, setOpen] = useState<'top-up' | 'adjust' | 'suspend'>();
  const resuming = useResume(account.accountId);
  const close = (): void => setOpen(undefined);
  const resume = (): void =>
    resuming.mutate(undefined, {
      onSuccess: () => notify(texts.suspension.resumed(account.name)),
      onError: (error) => notifyError({ message: error.message }),
    });
  return (
    <>
      <Button onClick={() => setOpen('top-up')}>{words.topUp}</Button>
      <Button variant="default" onClick={() => setOpen('adjust')}>
        {words.adjust}
      </Button>
      {account.status === 'active' ? (
        <Button variant="default" onClick={() => setOpen('suspend')}>
          {words.suspend}
        </Button>
      ) : (
        <BusyButton variant="default" onClick={resume} isBusy={resuming.isPending}>
          {words.resume}
        </BusyButton>
      )}
      {open === 'top-up' ? <TopUpDialog account={account} onClose={close} /> : null}
      {open === 'adjust' ? <AdjustDialog account={account} onClose={close} /> : null}
      {open === 'suspend' ? <SuspendDialog account={account} onClose={close} /> : null}
    </>
  );
}
