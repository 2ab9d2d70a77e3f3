export default function Page({ job, tab }: { job: string; tab: string | undefined }) {
  return <p>{job + tab}</p>;
}
