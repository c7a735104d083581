"""A service whose endpoint is none says so in its status, and goes on with numbers."""

from propagation.v1 import propagation_pb2 as pb
from services.fake_llm.script import Refused
from services.fake_llm.server import FakeLLM, fake_llm
from tests.service.running.test_slow_model import start_service
from tests.service.scenarios import plant_two_communities
from tests.waiting import wait_until


class WebServer(FakeLLM):
    """Has no such path."""

    async def _answer_chat(self, body, headers, writer):
        raise Refused(404, "Not Found")


async def test_the_status_says_what_answered_and_which_setting_to_correct(tmp_path):
    async with (
        fake_llm(kind=WebServer) as model,
        start_service(tmp_path, model, bootstrap_items=20) as service,
    ):
        await plant_two_communities(service)

        async def find_failure():
            status = await service.stub.GetStatus(pb.GetStatusRequest())
            return status.failing.get("reason")

        failure = await wait_until(find_failure, 60)
        assert failure.startswith(
            f"{model.base_url} answers, but is no endpoint of chat completions (404: Not Found"
            " error): set openai.base_url to the address of an OpenAI-compatible server"
        )
        await wait_until(lambda: service.engine.numbers.view.epoch == 1, 60)
        answer = await service.stub.Recommend(pb.RecommendRequest(user_id="new"))
        assert answer.recommendations
