/** Code that verifies callbacks, in the selected language, with its rules and the headers. */
import { Anchor, Code, List, Stack, Table, Tabs, Text, Title } from '@mantine/core';
import { CodeBlock } from '../../components/copy.tsx';
import { useSession } from '../../session/session.tsx';
import { texts } from '../../texts/webhooks.ts';
import { Section } from '../tasks/section.tsx';
import { LANGUAGES, receiverIn } from './verification/receivers.ts';

const STANDARD_WEBHOOKS = 'https://www.standardwebhooks.com';

export function VerificationCode() {
  const { signatureHeaderPrefix: prefix } = useSession();
  return (
    <Section title={texts.code.title}>
      <Stack>
        <Text size="sm">{texts.code.about}</Text>
        <Tabs defaultValue={LANGUAGES[0]} keepMounted={false}>
          <Tabs.List aria-label={texts.code.language} mb="sm">
            {LANGUAGES.map((language) => (
              <Tabs.Tab key={language} value={language}>
                {texts.code.languages[language]}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {LANGUAGES.map((language) => (
            <Tabs.Panel key={language} value={language}>
              <CodeBlock code={receiverIn(language, prefix)} label={texts.code.label(texts.code.languages[language])} />
            </Tabs.Panel>
          ))}
        </Tabs>
        <List size="sm" spacing={4}>
          {texts.code.rules.map((rule) => (
            <List.Item key={rule}>{rule}</List.Item>
          ))}
        </List>
        <Title order={3} size="h6">
          {texts.code.headersTitle}
        </Title>
        <Text size="sm">{texts.code.headersAbout}</Text>
        <Headers prefix={prefix} />
        <Text size="sm">
          {texts.code.standard}{' '}
          <Anchor href={STANDARD_WEBHOOKS} target="_blank" rel="noreferrer" underline="always" inherit>
            {texts.code.standardLink}
          </Anchor>
        </Text>
      </Stack>
    </Section>
  );
}

function Headers({ prefix }: { readonly prefix: string }) {
  const { ownMeanings, standardMeanings } = texts.code;
  const headers = [
    [`${prefix}-Timestamp`, ownMeanings.timestamp],
    [`${prefix}-Signature`, ownMeanings.signature],
    [`${prefix}-Signature-Previous`, ownMeanings.previous],
    ['webhook-id', standardMeanings.id],
    ['webhook-timestamp', standardMeanings.timestamp],
    ['webhook-signature', standardMeanings.signature],
  ] as const;
  return (
    <Table.ScrollContainer minWidth={520} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
      <Table aria-label={texts.code.headersTitle}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{texts.code.header}</Table.Th>
            <Table.Th>{texts.code.meaning}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {headers.map(([name, meaning]) => (
            <Table.Tr key={name}>
              <Table.Td style={{ whiteSpace: 'nowrap' }}>
                <Code>{name}</Code>
              </Table.Td>
              <Table.Td>{meaning}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
