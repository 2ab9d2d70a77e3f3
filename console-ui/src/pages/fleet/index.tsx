import { Loading } from "../../components/States";

export default function Page() {
  return <Loading />;
}
